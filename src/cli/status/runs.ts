// Runs as `status` tells them: the last one, the last that succeeded and the last that failed, each with what became of it.
import type { Fact, Rows } from './reading.ts'

export interface RunStatus {
  run: string
  /** Who asked: sync, watch, schedule or backfill; null in rows of earlier versions. */
  origin: string | null
  /** `waiting`: it goes on as soon as a worker of Temporal is there. */
  state: 'running' | 'paused' | 'waiting' | 'killed' | 'ended'
  startedAt: string
  /** Null while it goes on. Of one that was killed: when it was last seen. */
  endedAt: string | null
  /** When it was last known to go on; null once it has ended. */
  seenAt: string | null
  pausedAt: string | null
  /** The process that holds, or held, the warehouse. */
  pid: number | null
  /** From its beginning to its end. */
  durationMs: number | null
  /** Null while it goes on. */
  outcome: string | null
  success: boolean | null
  /** Why it did not come to its end; of one that goes on, why its last attempt failed. */
  errorCode: string | null
  error: string | null
  hint: string | null
  requests: number | null
  sessions: number | null
  pages: number | null
  conversations: number | null
  quarantined: number | null
}

export interface RunsStatus {
  lastRun: RunStatus | null
  lastSuccess: RunStatus | null
  lastFailure: RunStatus | null
}

export const NO_RUNS: RunsStatus = { lastRun: null, lastSuccess: null, lastFailure: null }

const KILLED_HINT = 'The next sync goes on where it stopped; nothing that landed is lost.'

type Row = Record<string, Fact | undefined>

/** An embedded run dies with the process that holds the warehouse; one of Temporal's goes on with the next worker. */
function stateOf(row: Row, isHeld: boolean): RunStatus['state'] {
  const goesOn = row.outcome === 'preempted' && row.host === 'temporal'
  if (row.ended_at && !goesOn) return row.outcome === 'killed' ? 'killed' : 'ended'
  if (row.paused_at) return 'paused'
  if (isHeld) return 'running'
  return row.host === 'temporal' ? 'waiting' : 'killed'
}

/** A warehouse that an earlier version wrote has fewer columns until it is written again. */
function runOf(row: Row, isHeld: boolean): RunStatus {
  const text = (name: string) => (row[name] ?? null) as string | null
  const number = (name: string) => (row[name] ?? null) as number | null
  const state = stateOf(row, isHeld)
  const killed = state === 'killed'
  const startedAt = text('started_at')!
  const endedAt = text('ended_at') ?? (killed ? (text('seen_at') ?? startedAt) : null)
  return {
    run: text('run')!,
    origin: text('origin'),
    state,
    startedAt,
    endedAt,
    seenAt: text('seen_at'),
    pausedAt: text('paused_at'),
    pid: number('pid'),
    durationMs: endedAt === null ? null : Date.parse(endedAt) - Date.parse(startedAt),
    outcome: killed ? 'killed' : text('outcome'),
    success: killed ? false : ((row.success ?? null) as boolean | null),
    errorCode: text('error_code'),
    error: text('error'),
    hint: killed ? KILLED_HINT : text('hint'),
    requests: number('requests'),
    sessions: number('sessions'),
    pages: number('pages'),
    conversations: number('conversations'),
    quarantined: number('quarantined'),
  }
}

/** The row of one that was preempted and goes on tells of an end that is none: of its last leg. */
const goingOn = (run: RunStatus): RunStatus =>
  run.state === 'ended' || run.state === 'killed'
    ? run
    : { ...run, endedAt: null, durationMs: null, outcome: null, success: null }

/** `here` is the condition that names the workspace; `isHeld`: another process holds the warehouse. */
export async function runsStatus(rows: Rows, here: string, isHeld: () => boolean): Promise<RunsStatus> {
  const newest = async (which: string): Promise<Row | null> => {
    const [row] = await rows<Row>(
      `SELECT * FROM _runs WHERE ${here} AND ${which} ORDER BY started_at DESC, run LIMIT 1`,
    )
    return row ?? null
  }
  const last = await newest('true')
  if (last === null) return NO_RUNS
  const success = 'success' in last ? 'success' : "outcome IN ('done', 'limit-reached', 'preempted')"
  const succeeded = await newest(success)
  const failed = await newest(`NOT (${success}) AND outcome NOT IN ('interrupted', 'declined')`)
  const told = (row: Row | null) => row && runOf(row, isHeld())
  const lastRun = goingOn(runOf(last, isHeld()))
  return {
    lastRun,
    lastSuccess: told(succeeded),
    lastFailure: lastRun.state === 'killed' ? lastRun : told(failed),
  }
}
