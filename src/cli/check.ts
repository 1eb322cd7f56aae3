// `convohouse check`: runs the checks over all rows. Stores the results if a workspace is configured and no other
// process holds the warehouse.
import type { Command } from 'commander'
import { openApp } from '../app.ts'
import { type Config, readChecks } from '../config.ts'
import { ConvohouseError, EXIT_CODES, isCode } from '../core/errors.ts'
import { MINUTE } from '../core/time.ts'
import { count, counted } from '../core/words.ts'
import { allMetrics, checkOf as checkOfMetric, ownMetrics } from '../metrics/own-metrics.ts'
import { checkOf as checkOfPage } from '../serve/pages/page-check.ts'
import { ownPages } from '../serve/pages.ts'
import { checkNow } from '../steps/checks.ts'
import { allChecks } from '../warehouse/checks/all-checks.ts'
import type { Check } from '../warehouse/checks/declaration.ts'
import type { Ran } from '../warehouse/checks/results.ts'
import { reasonOf, runCheck } from '../warehouse/checks/results.ts'
import { expectWarehouse } from '../warehouse/open.ts'
import { withWarehouseRows } from '../warehouse/query/rows.ts'
import type { WarehouseAccess } from '../warehouse/query/warehouse-client.ts'
import { configIfAny, storageOf } from './flags/configuration.ts'
import { addConfigFlag } from './flags/sync-flags.ts'
import { invalidFlag } from './flags/values.ts'
import { grid, gridOnStdout } from './terminal/columns.ts'
import { visible } from './terminal/controls.ts'
import { print, printJson } from './terminal/print.ts'
import { stopOnSignals } from './terminal/signals.ts'

export const define = (command: Command): Command =>
  addConfigFlag(command)
    .argument('[names...]', 'only these checks; default: all')
    .option('--json', 'one JSON object, for machines')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse check
  $ convohouse check conversations_unique loads_unique
  $ convohouse check --json | jq '.checks[] | select(.outcome != "passed")'

A check is a SELECT that returns the rows that break a rule. Your own are the .sql files of the folder \`checks\` in the configuration, each
with a header:

  -- Every conversation has a channel.
  -- severity: warn                                  error or warn
  -- table: conversations
  -- key: workspace_id, agent_id, conversation_id    optional: examples of them are stored
  SELECT workspace_id, agent_id, conversation_id FROM conversations WHERE channel IS NULL

The metrics of the folder \`metrics\` and the pages of the folder \`pages\` are checked too: metric_NAME says whether DuckDB can compute one, and
page_NAME whether the dashboard can show one.

With names, the first rows of each check that fails are printed. Syncs run the checks too, after changes and once a day. Results are in the table _checks, unless another process
holds the warehouse. The exit code is 0 if all pass or only warnings fail, 6 if a check of severity error fails, 2 if one cannot run.`,
    )
    .action(async (names: string[], flags: CheckFlags) => {
      process.exitCode = await runCheckCommand(names, flags)
    })

export interface CheckFlags {
  config?: string
  json?: boolean
}

/** Time limit for one check. */
const TIMEOUT_MS = 10 * MINUTE

/** @throws FLAG_INVALID if there is no check of one of these names */
function chosen(all: readonly Check[], names: readonly string[]): readonly Check[] {
  if (names.length === 0) return all
  const unknown = names.find(name => all.every(check => check.name !== name))
  if (unknown !== undefined)
    throw invalidFlag(
      `There is no check ${JSON.stringify(unknown)}.`,
      '`convohouse check` runs all of them, and forgets the results of those that are gone.',
    )
  return all.filter(({ name }) => names.includes(name))
}

/** Returns a check of each metric and page of the user. Its result is never stored. */
async function declarationChecks(config: Config | null): Promise<Check[]> {
  if (config === null) return []
  const { metrics: ofMetrics, pages: ofPages } = config
  const { metrics } = await allMetrics(ofMetrics)
  return [
    ...(ofMetrics ? await ownMetrics(ofMetrics) : []).map(checkOfMetric),
    ...(ofPages ? await ownPages(ofPages, metrics) : []).map(page => checkOfPage(page, metrics)),
  ]
}

/** Runs the checks in this process; null if another process holds the warehouse. */
async function runHere(config: Config, checks: readonly Check[], signal: AbortSignal): Promise<Ran[] | null> {
  const app = await openApp({ config }).catch(error => {
    if (isCode(error, 'WAREHOUSE_LOCKED')) return null
    throw error
  })
  if (app === null) return null
  const { warehouse } = app
  const options = { warehouse, folder: config.checks, checks, timeoutMs: TIMEOUT_MS, now: Date.now, signal }
  return checkNow(options).finally(() => app.close())
}

/** Returns the exit code of the most severe result: a rule that is broken, then a check that cannot run. */
function exitCodeOf(results: readonly Ran[]): number {
  if (results.some(({ outcome, check }) => outcome === 'failed' && check.severity === 'error'))
    return EXIT_CODES.storage
  if (results.some(({ outcome }) => outcome === 'broken' || outcome === 'timeout')) return EXIT_CODES.input
  return EXIT_CODES.ok
}

const COLUMNS = [
  { name: 'check' },
  { name: 'result' },
  { name: 'severity' },
  { name: 'table' },
  { name: 'rows', right: true },
  { name: 'ms', right: true },
]

const cells = ({ check, outcome, violations, durationMs }: Ran): string[] => [
  check.name,
  outcome,
  check.severity,
  check.table,
  violations === null ? '' : count(violations),
  count(durationMs),
]

/**
 * Describes what a check found, or why it cannot run. A check whose header is invalid may have no description. `shown`
 * is undefined unless the check was named.
 */
function detailLines({ check, outcome, violations, error, examples }: Ran, shown: Shown | undefined) {
  if (outcome === 'passed') return []
  const why = outcome === 'timeout' ? 'It takes too long.' : error
  const [head, ...more] = [check.about, why].filter(text => text !== null && text !== '')
  return [
    '',
    `${check.name}: ${visible(head!)}${check.blocks && outcome === 'failed' ? ` Targets with ${check.table} stay as they are until it passes.` : ''}`,
    ...more.map(text => `  ${visible(text!)}`),
    ...(outcome === 'failed' ? rowLines(check, violations ?? 0, shown ?? { rows: examples, problem: null }) : []),
  ]
}

/** Returns the rows that break the rule, and their number. */
function rowLines({ name }: Check, violations: number, { rows, problem }: Shown): string[] {
  if (problem !== null) return [`  Its rows cannot be shown: ${visible(problem)}`]
  if (rows.length === 0) return [`  \`convohouse check ${visible(name)}\` shows rows.`]
  const more = violations > rows.length ? [`${count(rows.length)} of ${counted(violations, 'row')}`] : []
  return [...rows.map(values => visible(JSON.stringify(values))), ...more].map(line => `  ${line}`)
}

/** Returns the summary. `unstored`: why the results are not stored; null if they are. */
function summary(results: readonly Ran[], unstored: string | null): string {
  const wrong = results.filter(({ outcome }) => outcome !== 'passed').length
  const passed = results.length === 1 ? 'The check passed' : `All ${counted(results.length, 'check')} passed`
  const found = wrong === 0 ? passed : `${count(wrong)} of ${counted(results.length, 'check')} did not pass`
  return unstored === null ? `${found}.` : `${found}. The results are not stored, because ${unstored}.`
}

function whyUnstored(config: Config | null, stored: readonly Ran[] | null): string | null {
  if (stored !== null) return null
  return config === null ? 'no workspace is configured' : 'another process holds the warehouse'
}

function jsonOf({ check, ...result }: Ran, shown: Shown | undefined): object {
  const { sql: _, problem: __, ...declared } = check
  return { ...declared, ...result, ...(shown && { rows: shown.rows }) }
}

/** @returns the exit code. @throws FLAG_INVALID, WAREHOUSE_MISSING, WAREHOUSE_LOCKED, WAREHOUSE_LAYOUT, HOME_UNUSABLE, INTERRUPTED */
async function runCheckCommand(names: readonly string[], flags: CheckFlags): Promise<number> {
  const config = configIfAny(flags.config)
  const storage = storageOf(flags.config)
  expectWarehouse(storage.home)
  const declared = await declarationChecks(config)
  const all = chosen([...(await allChecks(config ? config.checks : readChecks())), ...declared], names)
  const checks = all.filter(check => !declared.includes(check))
  const stop = stopOnSignals()
  try {
    const stored = config ? await runHere(config, checks, stop.stopping) : null
    const unstored = all.filter(check => stored === null || declared.includes(check))
    const results = [...(stored ?? []), ...(await runAsQueries(storage, unstored))]
    const exitCode = exitCodeOf(results)
    const shown = names.length === 0 ? new Map<string, Shown>() : await failingRows(storage, results)
    const shownOf = ({ check }: Ran) => shown.get(check.name)
    if (flags.json) {
      const checked = results.map(result => jsonOf(result, shownOf(result)))
      printJson({ ok: exitCode === EXIT_CODES.ok, exitCode, stored: stored !== null, checks: checked })
    } else
      print(
        ...grid(COLUMNS, results.map(cells), gridOnStdout()),
        ...results.flatMap(result => detailLines(result, shownOf(result))),
        '',
        summary(results, whyUnstored(config, stored)),
      )
    return exitCode
  } finally {
    stop.release()
  }
}

/** Runs the checks as queries, by the process that holds the warehouse if there is one. */
const runAsQueries = (storage: WarehouseAccess, checks: readonly Check[]): Promise<Ran[]> =>
  withWarehouseRows(storage, async rows => {
    const ran: Ran[] = []
    for (const check of checks) ran.push({ check, ...(await runCheck(rows, check)) })
    return ran
  })

/** Maximum number of rows shown of a failing check. */
const SHOWN_ROWS = 5

/** Maximum number of characters shown of a value: measuring the width of a long text takes minutes. */
const SHOWN_CHARACTERS = 200

/** Values as text. */
type ShownRow = Record<string, string | null>

interface Shown {
  rows: readonly object[]
  /** Reason, without values, why there are no rows; null if there are rows. */
  problem: string | null
}

/**
 * Returns the first rows of each failing check, by its name. They may name people, so they are shown but never stored.
 * A column that counting rows does not need may fail here for the first time.
 */
async function failingRows(access: WarehouseAccess, results: readonly Ran[]): Promise<Map<string, Shown>> {
  const failed = results.filter(({ outcome }) => outcome === 'failed')
  const shown = new Map<string, Shown>()
  if (failed.length === 0) return shown
  const text = `COLUMNS('(?s).*')::VARCHAR`
  const value = `CASE WHEN length(${text}) > ${SHOWN_CHARACTERS} THEN left(${text}, ${SHOWN_CHARACTERS}) || '…' ELSE ${text} END`
  return withWarehouseRows(access, async rows => {
    for (const { check } of failed) {
      const sql = `SELECT ${value} AS '\\0' FROM (${check.sql}\n) LIMIT ${SHOWN_ROWS}`
      const found = await rows<ShownRow>(sql).then(
        some => ({ rows: some, problem: null }),
        error => {
          if (error instanceof ConvohouseError) return { rows: [], problem: reasonOf(error) }
          throw error
        },
      )
      shown.set(check.name, found)
    }
    return shown
  })
}
