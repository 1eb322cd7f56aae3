import type { Command } from 'commander'
import { addConfigFlag } from '../flags/sync-flags.ts'
import type { PublishFlags } from './publish.ts'

export const define = (command: Command): Command =>
  addConfigFlag(command.argument('[target]', 'name of a target (default: all)'))
    .option('--verify', 'then compare rows and checksums of each table in warehouse and target')
    .option('--refill', 'write the target from empty')
    .option('--json', 'one JSON object per target, for machines')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse publish                   all targets
  $ convohouse publish dashboards        one of them
  $ convohouse publish --verify

\`sync --watch\`, \`up\` and \`worker\` publish by themselves, at most once per \`publish.every\`. A single \`sync\` does not: publish after it.
While a Temporal worker holds the warehouse, this command asks the worker, which publishes at once.
Readers of a target see the state before a publication, then the state after it. Personal data is hashed or dropped unless the target's \`pii\` keeps it.`,
    )
    .action(async (target: string | undefined, flags: PublishFlags) => {
      const { runPublish } = await import('./publish.ts')
      process.exitCode = await runPublish(target, flags)
    })
