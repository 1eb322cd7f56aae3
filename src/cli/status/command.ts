import { Command } from 'commander'
import { addConfigFlag, addWorkspaceFlag } from '../flags/sync-flags.ts'
import type { StatusFlags } from './status.ts'

export const statusCommand = (): Command =>
  addWorkspaceFlag(
    addConfigFlag(
      new Command('status').description('show what is stored, how current it is, and what is left of the quota'),
    ),
  )
    .option('--json', 'one JSON object, for machines')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse status                                    works while a sync runs
  $ convohouse status --json | jq '.workspaces[].quota'`,
    )
    .action(async (flags: StatusFlags) => {
      const { runStatus } = await import('./status.ts')
      await runStatus(flags)
    })
