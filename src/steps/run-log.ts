// The log of one run: its row in the warehouse, and entries in the landing, from which a replay restores the row.
import { endBy, type HostName, type Origin, type RunEnd } from '../core/run-record.ts'
import type { Landing } from '../landing/landing.ts'
import { mayLoseEvent } from '../receiver/refusals.ts'
import { readRefused, totalRefused } from '../spool/refusal-record.ts'
import type { Warehouse } from '../warehouse/open.ts'
import { beginRun, endRun, quarantinedSince, refusedBefore, updateRun } from '../warehouse/runs.ts'

export interface RunLog {
  run: string
  /** Inserts the row unless it exists. @throws HOME_UNUSABLE */
  begin(): Promise<void>
  /** Records that the run is alive now. */
  seen(): Promise<void>
  paused(paused: boolean): Promise<void>
  /** Records a failure that is retried; null records that the retry succeeded. */
  failing(error: unknown): Promise<void>
  /** Returns the number of records and events quarantined since the previous run. */
  quarantined(): Promise<number>
  /** Returns the number of webhook events that receivers refused: in total, and since the previous run. */
  refused(): Promise<{ inAll: number; since: number }>
  /** Records the end. @throws HOME_UNUSABLE */
  ended(end: RunEnd): Promise<void>
  /** Records the error that ended the run, unless an end is recorded. */
  gaveUp(error: unknown): Promise<void>
}

export function openRunLog(options: {
  warehouse: Pick<Warehouse, 'writer'>
  landing: Pick<Landing, 'noteRun'>
  /** The data folder, in which receivers record refusals. */
  home: string
  workspaceId: string
  run: string
  /** Omitted if this process runs only a later part of the run. */
  origin?: Origin
  host: HostName
  now: () => number
}): RunLog {
  const { warehouse, landing, home, workspaceId, run, origin, host, now } = options
  const { writer } = warehouse
  const begunAtMs = now()
  let begun: Promise<void> | undefined

  async function write(): Promise<void> {
    const record = { run, startedMs: begunAtMs, host, pid: process.pid, ...(origin && { origin }) }
    if (await beginRun(writer, workspaceId, record, now())) await landing.noteRun(record, begunAtMs)
  }

  async function over(end: RunEnd, unlessEnded: boolean): Promise<void> {
    const endedMs = now()
    if (await endRun(writer, workspaceId, { run, end, endedMs, unlessEnded }))
      await landing.noteRun({ run, endedMs, ...end }, endedMs)
  }

  async function refused(): Promise<{ inAll: number; since: number }> {
    const counted = (await readRefused(home)).filter(one => one.workspaceId === workspaceId && mayLoseEvent(one.reason))
    const inAll = counted.reduce((sum, one) => sum + totalRefused(one), 0)
    const before = await refusedBefore(writer, workspaceId, run)
    // A lost record of refusals has restarted at zero.
    return { inAll, since: inAll < before ? inAll : inAll - before }
  }

  return {
    run,
    begin() {
      begun ??= write().catch(error => {
        begun = undefined
        throw error
      })
      return begun
    },
    seen: () => updateRun(writer, workspaceId, run, { seenMs: now() }),
    paused: paused => updateRun(writer, workspaceId, run, { seenMs: now(), pausedMs: paused ? now() : null }),
    failing: error =>
      updateRun(writer, workspaceId, run, { seenMs: now(), failure: error === null ? {} : endBy(error) }),
    quarantined: () => quarantinedSince(writer, workspaceId, run),
    refused,
    ended: end => over(end, false),
    gaveUp: error => over(endBy(error), true),
  }
}
