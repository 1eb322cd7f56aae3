// Runs: one row for each requested sync, written when it begins and completed when it ends, for any reason.
import type { RunEnd, RunRecord } from '../core/run-record.ts'
import { iso, type Params, type Writer } from './connection.ts'

/** SQL condition for a run that can still end. On Temporal a preempted run continues, and its row shows its progress. */
const NOT_ENDED = "(ended_at IS NULL OR outcome = 'preempted')"

/** SQL condition for the row of a run, with its parameters. */
const ROW = 'workspace_id = $workspace AND run = $run'

const columnsOf = ({ startedMs, endedMs, errorCode, webhooksRefused, agentsLeft, ...run }: RunRecord) => ({
  ...run,
  started_at: iso(startedMs),
  ended_at: endedMs === undefined ? null : iso(endedMs),
  ...(errorCode && { error_code: errorCode }),
  ...(webhooksRefused !== undefined && { webhooks_refused: webhooksRefused }),
  ...(agentsLeft && { agents_left: agentsLeft }),
})

/** Begins a run. @returns false for another attempt of a run that has already begun, perhaps in another process */
export const beginRun = (
  writer: Writer,
  workspaceId: string,
  run: RunRecord & { pid: number },
  nowMs: number,
): Promise<boolean> =>
  writer.transaction(async () => {
    const params = { workspace: workspaceId, run: run.run }
    const updated = await writer.rows(
      `UPDATE _runs SET pid = $pid, seen_at = $now::TIMESTAMPTZ WHERE ${ROW} AND ${NOT_ENDED} RETURNING 1`,
      { ...params, pid: run.pid, now: iso(nowMs) },
    )
    if (updated.length > 0) return false
    const ended = await writer.rows(`SELECT 1 FROM _runs WHERE ${ROW}`, params)
    if (ended.length > 0) return false
    await writer.append('_runs', [{ workspace_id: workspaceId, seen_at: iso(nowMs), ...columnsOf(run) }])
    return true
  })

/** Updates a run that has not ended: last seen, paused since, reason of the last failed attempt. Omitted fields stay. */
export const updateRun = (
  writer: Writer,
  workspaceId: string,
  run: string,
  { seenMs, pausedMs, failure }: { seenMs: number; pausedMs?: number | null; failure?: Partial<RunEnd> },
): Promise<void> => {
  const values: Params = {
    seen_at: iso(seenMs),
    ...(pausedMs !== undefined && { paused_at: pausedMs === null ? null : iso(pausedMs) }),
    ...(failure && {
      error_code: failure.errorCode ?? null,
      error: failure.error ?? null,
      hint: failure.hint ?? null,
    }),
  }
  return writer.transaction(() =>
    writer.run(`UPDATE _runs SET ${assignments(values)} WHERE ${ROW} AND ${NOT_ENDED}`, {
      ...{ workspace: workspaceId, run },
      ...values,
    }),
  )
}

/** Returns the SET list of these columns, each set from the parameter of the same name. */
const assignments = (values: Params): string =>
  Object.keys(values)
    .map(column => `${column} = $${column}`)
    .join(', ')

/** Completes a run's row. @returns false if there is none, or, with `unlessEnded`, if it had already ended */
export const endRun = (
  writer: Writer,
  workspaceId: string,
  { run, end, endedMs, unlessEnded }: { run: string; end: RunEnd; endedMs: number; unlessEnded: boolean },
): Promise<boolean> =>
  writer.transaction(async () => {
    const values: Params = {
      ended_at: iso(endedMs),
      seen_at: null,
      paused_at: null,
      outcome: end.outcome,
      success: end.success,
      error_code: end.errorCode ?? null,
      error: end.error ?? null,
      hint: end.hint ?? null,
      requests: end.requests ?? null,
      sessions: end.sessions ?? null,
      pages: end.pages ?? null,
      conversations: end.conversations ?? null,
      quarantined: end.quarantined ?? null,
      webhooks_refused: end.webhooksRefused ?? null,
      agents_left: end.agentsLeft ? JSON.stringify(end.agentsLeft) : null,
    }
    const ended = await writer.rows(
      `UPDATE _runs SET ${assignments(values)} WHERE ${ROW}${unlessEnded ? ' AND ended_at IS NULL' : ''} RETURNING 1`,
      { ...{ workspace: workspaceId, run }, ...values },
    )
    return ended.length > 0
  })

/** Counts records and events quarantined since the end of the last other run with a report; all of them if there is none. */
export async function quarantinedSince(writer: Writer, workspaceId: string, run: string): Promise<number> {
  const [row] = await writer.rows<{ n: number }>(
    `SELECT count(*)::INTEGER AS n FROM _quarantine
    WHERE workspace_id = $workspace AND quarantined_at > coalesce((SELECT max(ended_at) FROM _runs
      WHERE workspace_id = $workspace AND run <> $run AND requests IS NOT NULL), TIMESTAMPTZ 'epoch')`,
    { workspace: workspaceId, run },
  )
  return row!.n
}

/** Counts webhook events that had been refused by the end of the last other run; 0 if no run has counted them. */
export async function refusedBefore(writer: Writer, workspaceId: string, run: string): Promise<number> {
  const [row] = await writer.rows<{ n: number }>(
    `SELECT coalesce(arg_max(webhooks_refused, ended_at), 0)::DOUBLE AS n
    FROM _runs WHERE workspace_id = $workspace AND run <> $run AND webhooks_refused IS NOT NULL`,
    { workspace: workspaceId, run },
  )
  return row!.n
}

/**
 * Ends the runs whose process died. The process that opens the warehouse for writing is its only writer, so an embedded run
 * without an end was killed. Its end is the time when it was last seen. @returns those runs, for the landing's records
 */
export const endKilledRuns = (writer: Writer): Promise<KilledRun[]> =>
  writer.transaction(async () => {
    const killed = await writer.rows<{ workspaceId: string; run: string; endedMs: number }>(
      `UPDATE _runs SET outcome = 'killed', success = false, ended_at = coalesce(seen_at, started_at), seen_at = NULL
        WHERE ended_at IS NULL AND host IS DISTINCT FROM 'temporal'
        RETURNING workspace_id AS "workspaceId", run, epoch_ms(ended_at)::DOUBLE AS "endedMs"`,
    )
    return killed.map(({ workspaceId, ...run }) => ({
      workspaceId,
      record: { ...run, outcome: 'killed', success: false },
    }))
  })

interface KilledRun {
  workspaceId: string
  record: Pick<RunRecord, 'run'> & Partial<RunRecord>
}

/** Inserts runs from the landing's records. */
export const insertRuns = (writer: Writer, workspaceId: string, runs: readonly RunRecord[]): Promise<void> =>
  writer.transaction(() =>
    writer.append(
      '_runs',
      runs.map(run => ({ ...columnsOf(run), workspace_id: workspaceId })),
    ),
  )

/** Copies runs and dropped full exports into the rebuilt warehouse. The replaced one may know more than the landing. */
export async function copyRuns(from: Writer, to: Writer): Promise<void> {
  const stored = await from.rows<Record<'workspace_id' | 'run', string> & { agents_left: string | null }>('FROM _runs')
  const rows = stored.map(row => ({ ...row, agents_left: row.agents_left && JSON.parse(row.agents_left) }))
  await to.transaction(async () => {
    for (const { workspace_id, run } of rows)
      await to.run(`DELETE FROM _runs WHERE ${ROW}`, { workspace: workspace_id, run })
    await to.append('_runs', rows)
  })
  const dropped = await from.rows<Record<'workspace_id', string>>('SELECT * FROM _full_exports_dropped')
  await to.transaction(async () => {
    for (const { workspace_id } of dropped)
      await to.run('DELETE FROM _full_exports_dropped WHERE workspace_id = $workspace', { workspace: workspace_id })
    await to.append('_full_exports_dropped', dropped)
  })
}
