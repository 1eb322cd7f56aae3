import { Command } from 'commander'
import { addConfigFlag, addWorkspaceFlag } from '../flags/sync-flags.ts'
import type { PruneFlags } from './prune.ts'

export const pruneCommand = (): Command =>
  addWorkspaceFlag(
    addConfigFlag(
      new Command('prune').description('remove landed pages and event payloads that are older than `retention`'),
    ),
  )
    .option('--dry-run', 'show what would be removed, and remove nothing')
    .option('--json', 'one JSON object per workspace, for machines')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse prune --dry-run
  $ convohouse prune

Rows stay in the warehouse, which then is the only place that has them: back it up. Syncs do the same once a day. Pages expire by agent
and month, when all of them are older, loaded, and of finished windows; event payloads expire by day. Without \`retention\` in the configuration nothing expires.`,
    )
    .action(async (flags: PruneFlags) => {
      const { runPrune } = await import('./prune.ts')
      await runPrune(flags)
    })
