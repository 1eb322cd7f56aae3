import { Command } from 'commander'
import { addSyncFlags, type SyncFlags } from '../flags/sync-flags.ts'

export const planCommand = (): Command =>
  addSyncFlags(new Command('plan').description('show what a sync would read and cost; costs no session'))
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse plan                          all agents of all configured workspaces
  $ convohouse plan --since 90d              for the last 90 days only
  $ convohouse plan --agent a_1 --full       what exporting one agent again would cost
  $ convohouse plan --json | jq .budget      what is left this hour and this period

While a sync, \`up\` or a worker runs, that process plans, by the configuration that it has read.`,
    )
    .action(async (flags: SyncFlags) => {
      const { runPlan } = await import('./plan.ts')
      await runPlan(flags)
    })
