import { Command } from 'commander'
import { BYS } from '../../reports/reconciled-counts.ts'
import { addConfigFlag, addWorkspaceFlag } from '../flags/sync-flags.ts'
import { moment, oneOf, repeated } from '../flags/values.ts'
import type { RowFormat } from '../output/write.ts'
import type { LedgerFlags } from './ledger.ts'

const FORMATS = ['table', 'csv', 'json', 'ndjson'] as const satisfies readonly RowFormat[]

export const ledgerCommand = (): Command =>
  addWorkspaceFlag(
    addConfigFlag(
      new Command('ledger').description(
        'compare what the vendor reported with what the tables contain, and explain the differences',
      ),
    ),
  )
    .option('-a, --agent <id>', 'only this agent; may be repeated', repeated('--agent'))
    .option('--since <moment>', 'only from this day on: a date, a time, or an age such as 30d', moment('--since'))
    .option('--by <what>', `one row per ${BYS.join(', ')}`, oneOf('--by', BYS), 'agent' as const)
    .option('--format <format>', `print only the rows, as ${FORMATS.join(', ')}`, oneOf('--format', FORMATS))
    .option('--json', 'one JSON object with rows, totals and differences, for machines')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse ledger                                    works while a sync runs
  $ convohouse ledger --since 30d --by day
  $ convohouse ledger --agent a_1 --by month --format csv
  $ convohouse ledger --json | jq '.workspaces[].differences'

A conversation counts on the day of its ts, in the workspace's time zone. "scanned" counts the conversations that the vendor looked at: those it
returned, and those it skipped because no person had written in them. In SQL, the view \`_ledger\` has the same figures.`,
    )
    .action(async (flags: LedgerFlags) => {
      const { runLedger } = await import('./ledger.ts')
      await runLedger(flags)
    })
