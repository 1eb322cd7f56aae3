// A workspace's last run, last successful run and last failed run, each with its state and outcome.
import type { Fact, Rows } from '../warehouse/query/rows.ts'

export interface RunStatus {
  run: string
  /** What started the run: sync, watch, schedule or backfill; null in rows of earlier versions. */
  origin: string | null
  /** `waiting`: the run continues as soon as a Temporal worker runs. */
  state: 'running' | 'paused' | 'waiting' | 'killed' | 'ended'
  startedAt: string
  /** Null while it runs. For a killed run: when it was last seen. */
  endedAt: string | null
  /** When the run was last known to be alive; null once it has ended. */
  seenAt: string | null
  pausedAt: string | null
  /** The process that holds or held the warehouse. */
  pid: number | null
  /** From start to end. */
  durationMs: number | null
  /** Null while it runs. */
  outcome: string | null
  success: boolean | null
  /** Why the run failed; if it still runs, why its last attempt failed. */
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

const KILLED_HINT = 'The next sync continues where it stopped; nothing that landed is lost.'

type Row = Record<string, Fact | undefined>

/** An embedded run dies with the process that holds the warehouse; a run on Temporal continues with the next worker. */
function stateOf(row: Row, isHeld: boolean): RunStatus['state'] {
  const continues = row.outcome === 'preempted' && row.host === 'temporal'
  if (row.ended_at && !continues) return row.outcome === 'killed' ? 'killed' : 'ended'
  if (row.paused_at) return 'paused'
  if (isHeld) return 'running'
  return row.host === 'temporal' ? 'waiting' : 'killed'
}

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

/** A preempted run that continues: its row holds the end of its last part, which is removed, since it is not the end of the run. */
const withoutPartialEnd = (run: RunStatus): RunStatus =>
  run.state === 'ended' || run.state === 'killed'
    ? run
    : { ...run, endedAt: null, durationMs: null, outcome: null, success: null }

/** `here` is the SQL condition that selects the workspace; `isHeld`: another process holds the warehouse. */
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
  const statusOf = (row: Row | null) => row && runOf(row, isHeld())
  const lastRun = withoutPartialEnd(runOf(last, isHeld()))
  return {
    lastRun,
    lastSuccess: statusOf(succeeded),
    lastFailure: lastRun.state === 'killed' ? lastRun : statusOf(failed),
  }
}
