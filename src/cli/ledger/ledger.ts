// `convohouse ledger`: the reconciliation report as text, JSON or rows. Queries only the warehouse.
import type { Command } from 'commander'
import { SECOND } from '../../core/time.ts'
import { count } from '../../core/words.ts'
import type { Uncovered } from '../../reports/coverage.ts'
import {
  BYS,
  type By,
  COUNT_NAMES,
  type CountName,
  type Counts,
  expectAgents,
  reconcileWorkspace,
  reconciliationSql,
  type Scope,
  type WorkspaceReconciliation,
} from '../../reports/reconciliation.ts'
import { workspacesIn } from '../../reports/status.ts'
import { type Rows, warehouseRows, withWarehouseRows } from '../../warehouse/query/rows.ts'
import { queryWarehouse } from '../../warehouse/query/warehouse-client.ts'
import { chooseIds, configIfAny, type Storage, storageOf } from '../flags/configuration.ts'
import { addConfigFlag, addWorkspaceFlag } from '../flags/sync-flags.ts'
import { invalidFlag, moment, oneOf, repeated } from '../flags/values.ts'
import { type RowFormat, writeResult } from '../output/write.ts'
import { type GridOptions, grid, gridOnStdout } from '../terminal/columns.ts'
import { visible } from '../terminal/controls.ts'
import { print, printJson } from '../terminal/print.ts'
import { plain } from '../terminal/style.ts'
import { type DescribedDifference, describeDifference, type Settings } from './differences.ts'

const FORMATS = ['table', 'csv', 'json', 'ndjson'] as const satisfies readonly RowFormat[]

export const define = (command: Command): Command =>
  addWorkspaceFlag(addConfigFlag(command))
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
      await runLedger(flags)
    })

export interface LedgerFlags {
  config?: string
  workspace?: string
  agent?: string[]
  /** ms since the epoch. */
  since?: number
  by: By
  format?: RowFormat
  json?: boolean
}

/** @throws AGENT_UNKNOWN, CONFIG_INVALID, FLAG_INVALID, WORKSPACE_UNKNOWN, WAREHOUSE_MISSING, WAREHOUSE_LAYOUT, WAREHOUSE_LOCKED, SQL_INVALID */
async function runLedger(flags: LedgerFlags): Promise<void> {
  if (flags.json && flags.format)
    throw invalidFlag(
      '--json and --format contradict each other.',
      'Omit one of the two: --json prints everything, --format only the rows.',
    )
  const config = configIfAny(flags.config)
  const storage = storageOf(flags.config)
  if (flags.format) return writeRows(storage, await scopeOf(warehouseRows(storage), flags), flags)
  const ledgers = await withWarehouseRows(storage, async rows => {
    const found: Ledger[] = []
    const { workspaceIds, agents, sinceMs } = await scopeOf(rows, flags)
    for (const workspaceId of workspaceIds) {
      const settings = config?.workspaces.find(({ id }) => id === workspaceId)
      const scope = { workspaceId, settings, agents, sinceMs, by: flags.by }
      found.push(ledgerOf(await reconcileWorkspace({ rows, ...scope, nowMs: Date.now() }), settings))
    }
    return found
  })
  if (flags.json) printJson({ home: storage.home, workspaces: ledgers })
  else show(ledgers)
}

/** Returns the rows that the flags select. @throws AGENT_UNKNOWN, WORKSPACE_UNKNOWN, WAREHOUSE_LAYOUT */
async function scopeOf(rows: Rows, { workspace, agent = [], since }: LedgerFlags): Promise<Scope> {
  const workspaceIds = chooseIds(await workspacesIn(rows), workspace)
  const scope = { workspaceIds, agents: agent, sinceMs: since ?? null }
  await expectAgents(rows, scope)
  return scope
}

/** The reconciliation of one workspace with its differences described, as `--json` prints it. */
export interface Ledger extends Pick<WorkspaceReconciliation, 'workspaceId' | 'by' | 'rows' | 'totals'> {
  /** ISO-8601 UTC; null if nothing has been read. */
  readThrough: string | null
  differences: DescribedDifference[]
  uncovered: Uncovered[]
}

/** Builds the ledger. `settings` is undefined for a workspace that is in the warehouse but not configured. */
function ledgerOf(reconciliation: WorkspaceReconciliation, settings: Settings | undefined): Ledger {
  const { workspaceId, by, rows, totals, differences, coverage, rereads, gaps } = reconciliation
  return {
    workspaceId,
    by,
    readThrough: coverage.readThrough,
    rows,
    totals,
    differences: differences.map(difference => describeDifference(difference, { coverage, rereads, gaps, settings })),
    uncovered: coverage.uncovered,
  }
}

const TIMEOUT_MS = 60 * SECOND

/** Writes only the rows. */
async function writeRows(storage: Storage, scope: Scope, { by, format }: LedgerFlags): Promise<void> {
  const result = await queryWarehouse(storage, { sql: reconciliationSql(scope, by), timeoutMs: TIMEOUT_MS })
  await writeResult({ result, format: format!, to: process.stdout })
}

function show(ledgers: readonly Ledger[]): void {
  const options = gridOnStdout()
  if (ledgers.length === 0) print('The warehouse has no data yet: run `convohouse sync`.')
  for (const [at, ledger] of ledgers.entries()) print(...(at > 0 ? [''] : []), ...ledgerLines(ledger, options))
}

/** Returns the lines about one workspace. */
function ledgerLines(ledger: Ledger, options: GridOptions = {}): string[] {
  const { style = plain } = options
  const { readThrough, workspaceId } = ledger
  const through = readThrough === null ? '' : `, read through ${readThrough.slice(0, 19).replace('T', ' ')} UTC`
  return [
    style('bold', `Workspace ${workspaceId}${through}`),
    '',
    ...table(ledger, options),
    '',
    ...differenceLines(ledger),
  ]
}

/** Headers of the counts that the view names otherwise. */
const HEADERS: Partial<Record<CountName, string>> = {
  ...{ held: 'exported', seenInEvents: 'in events', knownStale: 'stale', notExportable: 'not exportable' },
}

const ALWAYS_SHOWN: readonly CountName[] = ['scanned', 'returned', 'skipped', 'held']

/** Omits counts that are 0 everywhere, so that a terminal has room for whole ids and titles. */
function table({ by, rows, totals }: Ledger, options: GridOptions): string[] {
  const names = COUNT_NAMES.filter(name => ALWAYS_SHOWN.includes(name) || totals[name] > 0)
  const ofAgents = by === 'agent'
  const key = ofAgents ? [{ name: by, isWhole: true }, { name: 'title' }] : [{ name: by, isWhole: true }]
  const line = (first: string, title: string, counts: Counts): string[] => [
    ...(ofAgents ? [first, title] : [first || 'no ts']),
    ...names.map(name => count(counts[name])),
  ]
  return grid(
    [...key, ...names.map(name => ({ name: HEADERS[name] ?? name, right: true }))],
    [...rows.map(row => line(row.key ?? '', row.title ?? '', row)), line('total', '', totals)],
    options,
  )
}

function differenceLines({ differences, totals }: Ledger): string[] {
  if (differences.length > 0) return ['Differences, and how to resolve each:', ...differences.flatMap(differenceText)]
  if (totals.held === 0) return ['No conversation has been exported yet.']
  return ['No difference: every conversation that the vendor scanned was returned and is in the tables.']
}

const differenceText = (difference: DescribedDifference): string[] => [
  `  ${visible(difference.what)}`,
  `    → ${difference.hint}`,
]
