import { Command } from 'commander'
import { addConfigFlag, addWorkspaceFlag } from '../flags/sync-flags.ts'
import { repeated } from '../flags/values.ts'
import type { ReplayFlags } from '../replay.ts'

export const replayCommand = (): Command =>
  addWorkspaceFlag(
    addConfigFlag(
      new Command('replay').description('rebuild the warehouse from the pages that landed, without a request'),
    ),
  )
    .option('--table <name>', 'rebuild only this table; may be repeated', repeated('--table'))
    .option('--allow-incomplete', 'although loaded files are gone: what only they told is kept as it is')
    .option('--json', 'one JSON object a line, for machines')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse replay                        after an update that declares new fields, or with a damaged warehouse
  $ convohouse replay --table _drift --table _issues

Meanwhile the old warehouse answers queries; it is replaced when the new one is whole.`,
    )
    .action(async (flags: ReplayFlags) => {
      const { runReplay } = await import('../replay.ts')
      await runReplay(flags)
    })
