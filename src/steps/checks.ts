// Runs the checks of the warehouse: after loads over the records that have changed, and each once a day over all rows.
//
// Checks read through a connection of their own, so that loads of other workspaces go on meanwhile. None fails a sync: a check that DuckDB
// cannot run is a result like any other.
import { isCode } from '../core/errors.ts'
import { HOUR, SECOND } from '../core/time.ts'
import { acknowledge, registerConsumer, removeConsumer } from '../warehouse/changes/consumers.ts'
import { type LogRange, logRange } from '../warehouse/changes/epoch.ts'
import { allChecks } from '../warehouse/checks/all-checks.ts'
import { type Check, isIncremental, publishedTableOf } from '../warehouse/checks/declaration.ts'
import { merged, type Ran, type StoredResult, storedResults, storeResults } from '../warehouse/checks/results.ts'
import { type ChangedRange, type CheckResult, runCheck } from '../warehouse/checks/run-check.ts'
import type { Writer } from '../warehouse/connection.ts'
import { emptyTables } from '../warehouse/marts/scope.ts'
import type { Warehouse } from '../warehouse/open.ts'
import { rowsHere, unguardedRows } from '../warehouse/query/rows.ts'
import type { QueryLimits } from '../warehouse/query/session.ts'

/** Time that the checks may take at the end of a sync. The next sync continues with those that it left. */
const MOST_WORK_MS = 10 * SECOND

/** A check that is interrupted after less than this has not had its time. */
const FULL_TIME_MS = MOST_WORK_MS - SECOND

/** Less than a day, so that a daily schedule does not miss a day by seconds. */
const FULL_EVERY_MS = 20 * HOUR

/** A failed check runs sooner, so that a repaired table is published again soon. */
const FAILED_EVERY_MS = HOUR

/** A check that took no longer over all rows is not run over the changed records first when it is due. */
const QUICK_MS = 100

/** The checks' consumer of the change log. */
const CONSUMER = 'checks'

interface CheckOptions {
  warehouse: Pick<Warehouse, 'writer' | 'instance'>
  /** Folder of the user's checks; null: none. */
  folder: string | null
  now: () => number
  signal: AbortSignal
}

/**
 * Follows the change log if the user has checks, or if it is kept for a publication anyway: it makes loads a little slower.
 * @returns whether it does
 */
async function followLog(writer: Writer, folder: string | null): Promise<boolean> {
  const names = (await writer.rows<{ name: string }>('SELECT name FROM _consumers')).map(({ name }) => name)
  const isFollowing = names.includes(CONSUMER)
  const isWanted = folder !== null || names.some(name => name !== CONSUMER)
  if (isWanted && !isFollowing) await registerConsumer(writer, CONSUMER)
  if (!isWanted && isFollowing) await removeConsumer(writer, CONSUMER)
  return isWanted
}

/** The newest entry of the log for each published table. */
async function newestEntries(writer: Writer): Promise<Map<string, number>> {
  const rows = await writer.rows<{ name: string; seq: string }>(
    'SELECT table_name AS name, max(seq)::VARCHAR AS seq FROM _changes GROUP BY ALL',
  )
  return new Map(rows.map(({ name, seq }) => [name, Number(seq)]))
}

/** True where the log has every change since the check's last run. */
const isInLog = ({ position }: StoredResult, log: LogRange): boolean =>
  position !== null && position.epoch === log.epoch && position.seq >= log.trimmedTo && position.seq <= log.seq

const ageMs = (at: string, nowMs: number): number => {
  const age = nowMs - Date.parse(at)
  // A time in the future: the clock has been set back.
  return age < 0 ? Number.POSITIVE_INFINITY : age
}

/** When a check that is due last ran over all rows, ms; null if it is not due. */
function dueSince(before: StoredResult | undefined, log: LogRange, nowMs: number): number | null {
  if (!before?.fullAt) return 0
  const everyMs = before.outcome === 'failed' ? FAILED_EVERY_MS : FULL_EVERY_MS
  const isDue = before.position?.epoch !== log.epoch || ageMs(before.fullAt, nowMs) >= everyMs
  return isDue ? Date.parse(before.fullAt) : null
}

/** A new warehouse has just been filled from empty: there is nothing to check for a day. */
async function isNew(writer: Writer, nowMs: number): Promise<boolean> {
  const [first] = await writer.rows<{ at: string | null }>(
    `SELECT strftime(min(started_at) AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ') AS at FROM _runs`,
  )
  return !first?.at || ageMs(first.at, nowMs) < FULL_EVERY_MS
}

/** The result of a check that has no row to look at. */
const NOTHING_FOUND: CheckResult = { outcome: 'passed', violations: 0, examples: [], error: null, durationMs: 0 }

const running = new WeakSet<Writer>()

const isWrong = ({ outcome }: Pick<StoredResult, 'outcome'>): boolean => outcome === 'failed' || outcome === 'broken'

/** Runs one check; only the user's need the guard. */
type RunOne = (check: Check, limits: QueryLimits, range?: ChangedRange | null) => Promise<CheckResult>

interface Runner {
  run: RunOne
  /** The checks that pass because the tables whose rows they look at have none: half of those of a small warehouse. */
  withoutRows(checks: readonly Check[], limits: QueryLimits): Promise<ReadonlySet<Check>>
}

async function withRunner<T>(
  { instance }: Pick<Warehouse, 'instance'>,
  work: (runner: Runner) => Promise<T>,
): Promise<T> {
  const connection = await instance.connect()
  try {
    return await work({
      run: (check, limits, range = null) =>
        runCheck(check.isOwn ? rowsHere(instance, limits) : unguardedRows(connection, limits), check, range),
      async withoutRows(checks, limits) {
        const tables = [...new Set(checks.flatMap(({ rowsOf = [] }) => rowsOf))]
        const empty = await emptyTables({ rows: unguardedRows(connection, limits) }, tables).catch(
          (error): string[] => {
            // The checks themselves find and report what is wrong.
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
 * Runs what is due and stores the results. @returns the checks that have begun to fail
 * @throws HOME_UNUSABLE
 */
export async function checkAfterLoads(options: CheckOptions): Promise<StoredResult[]> {
  const { writer } = options.warehouse
  // Syncs of several workspaces end in one process; the warehouse is the same.
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
  const isLogged = await followLog(writer, folder)
  const checks = await allChecks(folder)
  // Read before the rows: an entry that is checked twice does no harm.
  const log = await logRange(writer)
  const newest = isLogged ? await newestEntries(writer) : new Map<string, number>()
  const results = new Map<string, StoredResult>()
  const begun: StoredResult[] = []

  const limits = (): QueryLimits => ({ timeoutMs: Math.max(1, untilMs - performance.now()), signal })
  const run = async (check: Check, after: number | null): Promise<void> => {
    const within = limits()
    const range = after === null ? null : { epoch: log.epoch, after, upTo: log.seq }
    const found = await runner.run(check, within, range)
    store(check, after, found, within)
  }
  const store = (check: Check, after: number | null, found: CheckResult, { timeoutMs }: QueryLimits): void => {
    const before = stored.get(check.name)
    // Others have used its time: the next sync begins with it.
    if (found.outcome === 'timeout' && timeoutMs < FULL_TIME_MS) return
    const ran: Ran = { check, scope: after === null ? 'all' : 'changes', ...found }
    const result = merged(before, ran, { nowMs, ...log })
    if (isWrong(result) && before?.outcome !== result.outcome) begun.push(result)
    results.set(check.name, result)
  }

  for (const check of checks) {
    const before = stored.get(check.name)
    if (!before) continue
    results.set(check.name, before)
    if (!isLogged || !isIncremental(check) || !isInLog(before, log)) continue
    const isQuick = before.scope === 'all' && before.durationMs <= QUICK_MS
    if (isQuick && dueSince(before, log, nowMs) !== null) continue
    const after = before.position!.seq
    if ((newest.get(publishedTableOf(check.table)!.table) ?? 0) > after && !signal.aborted) await run(check, after)
    else results.set(check.name, { ...before, position: { epoch: log.epoch, seq: log.seq } })
  }
  const due = checks
    .flatMap(check => {
      const since = dueSince(stored.get(check.name), log, nowMs)
      return since === null ? [] : [{ check, since }]
    })
    .sort((a, b) => a.since - b.since)
  const passing = await runner.withoutRows(
    due.map(({ check }) => check),
    limits(),
  )
  for (const { check } of due) {
    if (signal.aborted || performance.now() > untilMs) break
    if (passing.has(check)) store(check, null, NOTHING_FOUND, limits())
    else await run(check, null)
  }
  if (JSON.stringify([...results]) !== JSON.stringify([...stored])) await storeResults(writer, [...results.values()])
  if (newest.size > 0) await acknowledge(writer, CONSUMER, log)
  return begun
}

/** Runs these checks over all rows and stores the results, for `convohouse check`. Others keep theirs. @throws HOME_UNUSABLE, INTERRUPTED */
export async function checkNow(
  options: CheckOptions & { checks: readonly Check[]; timeoutMs: number },
): Promise<Ran[]> {
  const { warehouse, checks, now, signal, timeoutMs } = options
  const { writer } = warehouse
  const log = await logRange(writer)
  const ran = await withRunner(warehouse, async ({ run }) => {
    const found: Ran[] = []
    for (const check of checks) found.push({ check, scope: 'all', ...(await run(check, { timeoutMs, signal })) })
    return found
  })
  const known = new Set((await allChecks(options.folder)).map(({ name }) => name))
  const results = new Map(
    (await storedResults(writer)).flatMap(result => (known.has(result.name) ? [[result.name, result] as const] : [])),
  )
  for (const one of ran) results.set(one.check.name, merged(results.get(one.check.name), one, { nowMs: now(), ...log }))
  await storeResults(writer, [...results.values()])
  return ran
}
