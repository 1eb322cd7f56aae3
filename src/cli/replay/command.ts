import { Command } from 'commander'
import { addConfigFlag, addWorkspaceFlag } from '../flags/sync-flags.ts'
import { repeated } from '../flags/values.ts'
import type { ReplayFlags } from './replay.ts'

export const replayCommand = (): Command =>
  addWorkspaceFlag(
    addConfigFlag(
      new Command('replay').description(
        'rebuild the warehouse from landed pages and received events, without a request',
      ),
    ),
  )
    .option('--table <name>', 'rebuild only this table; may be repeated', repeated('--table'))
    .option('--allow-incomplete', 'continue if source files are missing; rows that only they supplied are kept')
    .option('--json', 'one JSON object per line, for machines')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse replay                        after an update that adds fields, or when the warehouse was damaged or refused, and is moved away
  $ convohouse replay --table _drift --table _issues

The old warehouse answers queries until the new one is complete and replaces it. Its runs, other workspaces, and rows whose files have
expired (\`prune\`) are kept.`,
    )
    .action(async (flags: ReplayFlags) => {
      const { runReplay } = await import('./replay.ts')
      await runReplay(flags)
    })
