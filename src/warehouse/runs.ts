// Runs: one row for each sync that was asked for, written when it begins and completed when it ends, however it ends.
import { quoteText } from '../catalog/layout.ts'
import { type RunEnd, type RunRecord, succeeded } from '../core/run-record.ts'
import { iso, type Writer } from './connection.ts'

const [text, at, count] = ['VARCHAR', 'TIMESTAMP', 'BIGINT']
const COLUMNS = {
  workspace_id: text,
  run: text,
  started_at: at,
  ended_at: at,
  outcome: text,
  requests: count,
  sessions: count,
  pages: count,
  conversations: count,
  origin: text,
  host: text,
  pid: count,
  seen_at: at,
  paused_at: at,
  error_code: text,
  error: text,
  hint: text,
  quarantined: count,
  webhooks_refused: count,
  success: 'BOOLEAN',
}

const timeOf = (ms: number): string => `TIMESTAMP '${iso(ms)}'`

const literal = (value: string | number | boolean | undefined): string =>
  value === undefined ? 'NULL' : typeof value === 'string' ? quoteText(value) : String(value)

/** On Temporal a run that was preempted goes on: its row tells how far it was when newer work came first. */
const NOT_ENDED = "(ended_at IS NULL OR outcome = 'preempted')"

/** The row of a run. */
const rowOf = (workspaceId: string, run: string): string =>
  `workspace_id = ${quoteText(workspaceId)} AND run = ${quoteText(run)}`

const columnsOf = ({ startedMs, endedMs, errorCode, webhooksRefused, ...run }: RunRecord) => ({
  ...run,
  success: succeeded(run as RunRecord),
  started_at: iso(startedMs),
  ended_at: endedMs === undefined ? null : iso(endedMs),
  ...(errorCode && { error_code: errorCode }),
  ...(webhooksRefused !== undefined && { webhooks_refused: webhooksRefused }),
})

/** Begins a run; true where it had not begun before. One that has, has another attempt, which may be another process's. */
export const beginRun = (
  writer: Writer,
  workspaceId: string,
  run: RunRecord & { pid: number },
  nowMs: number,
): Promise<boolean> =>
  writer.transaction(async () => {
    const known = await writer.rows(
      `UPDATE _runs SET pid = ${run.pid}, seen_at = ${timeOf(nowMs)} WHERE ${rowOf(workspaceId, run.run)} AND ${NOT_ENDED} RETURNING 1`,
    )
    if (known.length > 0) return false
    const ended = await writer.rows(`SELECT 1 FROM _runs WHERE ${rowOf(workspaceId, run.run)}`)
    if (ended.length > 0) return false
    await writer.append('_runs', COLUMNS, [{ workspace_id: workspaceId, seen_at: iso(nowMs), ...columnsOf(run) }])
    return true
  })

/** A run that goes on: when it was seen, since when it is paused, or why its last attempt failed; what is absent stays as it is. */
export const updateRun = (
  writer: Writer,
  workspaceId: string,
  run: string,
  { seenMs, pausedMs, failure }: { seenMs: number; pausedMs?: number | null; failure?: Partial<RunEnd> },
): Promise<void> => {
  const pausedAt = pausedMs === undefined ? 'paused_at' : pausedMs === null ? 'NULL' : timeOf(pausedMs)
  const why = failure
    ? `, error_code = ${literal(failure.errorCode)}, error = ${literal(failure.error)}, hint = ${literal(failure.hint)}`
    : ''
  return writer.transaction(() =>
    writer.run(`UPDATE _runs SET seen_at = ${timeOf(seenMs)}, paused_at = ${pausedAt}${why}
      WHERE ${rowOf(workspaceId, run)} AND ${NOT_ENDED}`),
  )
}

/** Completes a run's row; false where there was none, or, with `unlessEnded`, where it had ended. */
export const endRun = (
  writer: Writer,
  workspaceId: string,
  { run, end, endedMs, unlessEnded }: { run: string; end: RunEnd; endedMs: number; unlessEnded: boolean },
): Promise<boolean> =>
  writer.transaction(async () => {
    const ended = await writer.rows(`UPDATE _runs SET ended_at = ${timeOf(endedMs)}, seen_at = NULL, paused_at = NULL,
        outcome = ${literal(end.outcome)}, success = ${literal(end.success)}, error_code = ${literal(end.errorCode)}, error = ${literal(end.error)}, hint = ${literal(end.hint)},
        requests = ${literal(end.requests)}, sessions = ${literal(end.sessions)}, pages = ${literal(end.pages)},
        conversations = ${literal(end.conversations)}, quarantined = ${literal(end.quarantined)}, webhooks_refused = ${literal(end.webhooksRefused)}
      WHERE ${rowOf(workspaceId, run)}${unlessEnded ? ' AND ended_at IS NULL' : ''} RETURNING 1`)
    return ended.length > 0
  })

/** Records and events that were quarantined since the newest run before this one that had a report, or in all where there was none. */
export async function quarantinedSince(writer: Writer, workspaceId: string, run: string): Promise<number> {
  const here = `workspace_id = ${quoteText(workspaceId)}`
  const [row] = await writer.rows<{ n: number }>(`SELECT count(*)::INTEGER AS n FROM _quarantine
    WHERE ${here} AND quarantined_at > coalesce(
      (SELECT max(ended_at) FROM _runs WHERE ${here} AND run <> ${quoteText(run)} AND requests IS NOT NULL), TIMESTAMP 'epoch')`)
  return row!.n
}

/** Webhook events that had been refused by the end of the last run before this one; 0 where no run has counted them. */
export async function refusedBefore(writer: Writer, workspaceId: string, run: string): Promise<number> {
  const [row] = await writer.rows<{ n: number }>(`SELECT coalesce(arg_max(webhooks_refused, ended_at), 0)::DOUBLE AS n
    FROM _runs WHERE workspace_id = ${quoteText(workspaceId)} AND run <> ${quoteText(run)} AND webhooks_refused IS NOT NULL`)
  return row!.n
}

/**
 * Ends the runs whose process died: whoever opens the warehouse to write is its only writer, so an embedded run without an end was
 * killed. It ended when it was last seen. @returns them, for the landing
 */
export const endKilledRuns = (writer: Writer): Promise<KilledRun[]> =>
  writer.transaction(async () => {
    const killed = await writer.rows<{ workspaceId: string; run: string; endedMs: string }>(
      `UPDATE _runs SET outcome = 'killed', success = false, ended_at = coalesce(seen_at, started_at), seen_at = NULL
        WHERE ended_at IS NULL AND host IS DISTINCT FROM 'temporal'
        RETURNING workspace_id AS "workspaceId", run, epoch_ms(ended_at) AS "endedMs"`,
    )
    return killed.map(({ workspaceId, run, endedMs }) => ({
      workspaceId,
      record: { run, endedMs: Number(endedMs), outcome: 'killed', success: false },
    }))
  })

export interface KilledRun {
  workspaceId: string
  record: Pick<RunRecord, 'run'> & Partial<RunRecord>
}

/** Runs as the landing tells of them. */
export const insertRuns = (writer: Writer, workspaceId: string, runs: readonly RunRecord[]): Promise<void> =>
  writer.transaction(() =>
    writer.append(
      '_runs',
      COLUMNS,
      runs.map(run => ({ ...columnsOf(run), workspace_id: workspaceId })),
    ),
  )

/** A rebuilt warehouse takes the runs of the one before it, which may know more of them than the landing, and full exports that were dropped. */
export async function copyRuns(from: Writer, to: Writer): Promise<void> {
  const rows = await from.rows<Record<'workspace_id' | 'run', string>>('SELECT * FROM _runs')
  await to.transaction(async () => {
    for (const { workspace_id, run } of rows) await to.run(`DELETE FROM _runs WHERE ${rowOf(workspace_id, run)}`)
    await to.append('_runs', COLUMNS, rows)
  })
  const dropped = await from.rows<Record<'workspace_id', string>>('SELECT * FROM _full_exports_dropped')
  await to.transaction(async () => {
    for (const { workspace_id } of dropped)
      await to.run(`DELETE FROM _full_exports_dropped WHERE workspace_id = ${quoteText(workspace_id)}`)
    await to.append('_full_exports_dropped', { workspace_id: text, planned_until: at }, dropped)
  })
}
