import { Command } from 'commander'
import { addConfigFlag, addWorkspaceFlag } from '../flags/sync-flags.ts'
import { moment, oneOf, repeated } from '../flags/values.ts'
import { BYS } from '../ledger/counts.ts'
import type { LedgerFlags } from '../ledger/run-ledger.ts'
import type { RowFormat } from '../output/format.ts'

const FORMATS = ['table', 'csv', 'json', 'ndjson'] as const satisfies readonly RowFormat[]

export const ledgerCommand = (): Command =>
  addWorkspaceFlag(
    addConfigFlag(
      new Command('ledger').description('show what the vendor looked at, against what is held, and why they differ'),
    ),
  )
    .option('-a, --agent <id>', 'only this agent; may be repeated', repeated('--agent'))
    .option('--since <moment>', 'no days before: a date, a time, or an age such as 30d', moment('--since'))
    .option('--by <what>', `a row for each ${BYS.join(', ')}`, oneOf('--by', BYS), 'agent' as const)
    .option('--format <format>', `the rows alone: ${FORMATS.join(', ')}`, oneOf('--format', FORMATS))
    .option('--json', 'one JSON object with rows, totals and differences, for machines')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse ledger                                    works while a sync runs
  $ convohouse ledger --since 30d --by day
  $ convohouse ledger --agent a_1 --by month --format csv
  $ convohouse ledger --json | jq '.workspaces[].differences'

A day is a day of a conversation's ts in the workspace's time zone. \`_ledger\` has the same, open to SQL; scanned is what
the vendor looked at: what it gave (returned), and what it skipped, as no person had written in it.`,
    )
    .action(async (flags: LedgerFlags) => {
      const { runLedger } = await import('../ledger/run-ledger.ts')
      await runLedger(flags)
    })
