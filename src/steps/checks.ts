// Runs the checks of the warehouse at the end of a sync, each over all rows: after changes, as often as its duration allows, and once a day.
//
// Checks read through a separate connection, so that loads of other workspaces continue at the same time. None fails a sync: a check that
// DuckDB cannot run is a result like any other.
import { isCode } from '../core/errors.ts'
import { HOUR, SECOND } from '../core/time.ts'
import { type LogRange, logRange } from '../warehouse/changes/log-changes.ts'
import { allChecks } from '../warehouse/checks/all-checks.ts'
import type { Check } from '../warehouse/checks/declaration.ts'
import {
  type CheckResult,
  type Ran,
  resultOf,
  runCheck,
  type StoredResult,
  storedResults,
  storeResults,
} from '../warehouse/checks/results.ts'
import type { Writer } from '../warehouse/connection.ts'
import { emptyTables } from '../warehouse/marts/scope.ts'
import type { Warehouse } from '../warehouse/open.ts'
import { rowsHere, unguardedRows } from '../warehouse/query/rows.ts'
import type { QueryLimits } from '../warehouse/query/session.ts'

/** Time limit for all checks at the end of a sync. The next sync continues with the remaining ones. */
const MOST_WORK_MS = 10 * SECOND

/** A check that is interrupted before this has not had its full time. */
const FULL_TIME_MS = MOST_WORK_MS - SECOND

/** Less than a day, so that a daily schedule does not miss a day by seconds. */
const EVERY_MS = 20 * HOUR

/** Within a day, a check takes at most a thousandth of the time, so that fifty checks take a twentieth. */
const MOST_SHARE = 1_000

interface CheckOptions {
  warehouse: Pick<Warehouse, 'writer' | 'instance'>
  /** Folder of the user's checks; null for none. */
  folder: string | null
  now: () => number
  signal: AbortSignal
}

const ageMs = (at: string, nowMs: number): number => {
  const age = nowMs - Date.parse(at)
  // The time is in the future, since the clock has been set back.
  return age < 0 ? Number.POSITIVE_INFINITY : age
}

/** True for a check that has not run for a day, and, more often, for one that failed or whose tables may have changed. */
function isDue(before: StoredResult | undefined, log: LogRange, nowMs: number): boolean {
  if (!before) return true
  const mayDiffer = before.outcome !== 'passed' || before.epoch !== log.epoch || before.seq !== log.seq
  const everyMs = mayDiffer ? Math.min(EVERY_MS, MOST_SHARE * before.durationMs) : EVERY_MS
  return ageMs(before.checkedAt, nowMs) >= everyMs
}

/** True within a day of the first run. A new warehouse has been filled from empty, so there is nothing to check. */
async function isNew(writer: Writer, nowMs: number): Promise<boolean> {
  const [first] = await writer.rows<{ at: string | null }>(
    `SELECT strftime(min(started_at) AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ') AS at FROM _runs`,
  )
  return !first?.at || ageMs(first.at, nowMs) < EVERY_MS
}

/** The result of a check that has no rows to read. */
const NOTHING_FOUND: CheckResult = { outcome: 'passed', violations: 0, examples: [], error: null, durationMs: 0 }

const running = new WeakSet<Writer>()

const isWrong = ({ outcome }: Pick<StoredResult, 'outcome'>): boolean => outcome === 'failed' || outcome === 'broken'

/** Runs one check; only the user's checks need the guard. */
type RunOne = (check: Check, limits: QueryLimits) => Promise<CheckResult>

/** Returns limits with which a check of the owner is watched, as a check and not as the query that counts its rows. */
const watched = ({ name, sql }: Check, limits: QueryLimits): QueryLimits => ({
  ...limits,
  statement: { kind: 'check', name, sql, timeoutMs: limits.timeoutMs },
})

interface Runner {
  run: RunOne
  /** Returns the checks that pass because their tables have no rows: half of those of a small warehouse. */
  withoutRows(checks: readonly Check[], limits: QueryLimits): Promise<ReadonlySet<Check>>
}

async function withRunner<T>(
  { instance }: Pick<Warehouse, 'instance'>,
  work: (runner: Runner) => Promise<T>,
): Promise<T> {
  const connection = await instance.connect()
  try {
    return await work({
      run: (check, limits) =>
        runCheck(check.isOwn ? rowsHere(instance, watched(check, limits)) : unguardedRows(connection, limits), check),
      async withoutRows(checks, limits) {
        const tables = [...new Set(checks.flatMap(({ rowsOf = [] }) => rowsOf))]
        const empty = await emptyTables({ rows: unguardedRows(connection, limits) }, tables).catch(
          (error): string[] => {
            // The checks themselves will report this error.
            if (isCode(error, 'QUERY_TIMEOUT', 'SQL_INVALID')) return []
            throw error
          },
        )
        return new Set(checks.filter(({ rowsOf }) => rowsOf?.every(table => empty.includes(table))))
      },
    })
  } finally {
    connection.closeSync()
  }
}

/**
 * Runs the checks that are due and stores the results. @returns the checks that now fail and did not before
 * @throws HOME_UNUSABLE
 */
export async function checkAfterLoads(options: CheckOptions): Promise<StoredResult[]> {
  const { writer } = options.warehouse
  // Syncs of several workspaces may end in one process that shares the warehouse.
  if (running.has(writer)) return []
  running.add(writer)
  try {
    return await withRunner(options.warehouse, runner => checkDue(options, runner))
  } finally {
    running.delete(writer)
  }
}

async function checkDue({ warehouse, folder, now, signal }: CheckOptions, runner: Runner): Promise<StoredResult[]> {
  const { writer } = warehouse
  const nowMs = now()
  const untilMs = performance.now() + MOST_WORK_MS
  const stored = new Map((await storedResults(writer)).map(result => [result.name, result]))
  if (stored.size === 0 && (await isNew(writer, nowMs))) return []
  const checks = await allChecks(folder)
  // Read before the rows: checking a change twice does no harm.
  const log = await logRange(writer)
  const results = new Map<string, StoredResult>()
  const begun: StoredResult[] = []
  const limits = (): QueryLimits => ({ timeoutMs: Math.max(1, untilMs - performance.now()), signal })
  const store = (check: Check, found: CheckResult, { timeoutMs }: QueryLimits): void => {
    // Other checks have used up the time; the next sync begins with this one.
    if (found.outcome === 'timeout' && timeoutMs < FULL_TIME_MS) return
    const result = resultOf({ check, ...found }, { nowMs, ...log })
    if (isWrong(result) && stored.get(check.name)?.outcome !== result.outcome) begun.push(result)
    results.set(check.name, result)
  }

  for (const { name } of checks) if (stored.has(name)) results.set(name, stored.get(name)!)
  const lastRun = ({ name }: Check): number => Date.parse(stored.get(name)?.checkedAt ?? '1970-01-01')
  const due = checks.filter(({ name }) => isDue(stored.get(name), log, nowMs)).sort((a, b) => lastRun(a) - lastRun(b))
  const passing = await runner.withoutRows(due, limits())
  for (const check of due) {
    if (signal.aborted || performance.now() > untilMs) break
    const within = limits()
    store(check, passing.has(check) ? NOTHING_FOUND : await runner.run(check, within), within)
  }
  if (JSON.stringify([...results]) !== JSON.stringify([...stored])) await storeResults(writer, [...results.values()])
  return begun
}

/** Runs these checks over all rows and stores the results, for `convohouse check`. @throws HOME_UNUSABLE, INTERRUPTED */
export async function checkNow(
  options: CheckOptions & { checks: readonly Check[]; timeoutMs: number },
): Promise<Ran[]> {
  const { warehouse, checks, now, signal, timeoutMs } = options
  const { writer } = warehouse
  const log = await logRange(writer)
  const ran = await withRunner(warehouse, async ({ run }) => {
    const found: Ran[] = []
    for (const check of checks) found.push({ check, ...(await run(check, { timeoutMs, signal })) })
    return found
  })
  const known = new Set((await allChecks(options.folder)).map(({ name }) => name))
  const results = new Map(
    (await storedResults(writer)).flatMap(result => (known.has(result.name) ? [[result.name, result] as const] : [])),
  )
  for (const one of ran) results.set(one.check.name, resultOf(one, { nowMs: now(), ...log }))
  await storeResults(writer, [...results.values()])
  return ran
}
