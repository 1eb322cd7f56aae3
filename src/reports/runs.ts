// A workspace's last run, last successful run and last failed run, each with its state and outcome.
import type { Rows } from '../warehouse/query/rows.ts'

export interface RunStatus {
  run: string
  /** Names the starter: sync, watch, schedule or backfill. */
  origin: string | null
  /** `waiting`: the run continues as soon as a Temporal worker runs. */
  state: 'running' | 'paused' | 'waiting' | 'killed' | 'ended'
  startedAt: string
  /** Null while it runs. For a killed run, the time when it was last seen. */
  endedAt: string | null
  /** Time when the run was last known to be alive; null once it has ended. */
  seenAt: string | null
  pausedAt: string | null
  /** The process that holds or held the warehouse. */
  pid: number | null
  /** Time from start to end. */
  durationMs: number | null
  /** Null while it runs. */
  outcome: string | null
  success: boolean | null
  /** Code of the error that failed the run or, while it runs, its last attempt. */
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

/** SQL condition: false for a command that named an agent that does not exist. It read nothing, and says nothing about the workspace. */
const IS_RUN = "coalesce(NOT (origin = 'sync' AND outcome = 'failed' AND error_code = 'AGENT_UNKNOWN'), true)"

const KILLED_HINT = 'The next sync continues where it stopped; nothing that landed is lost.'

type Row = Omit<RunStatus, 'state' | 'durationMs'> & { host: string }

const COLUMNS = `run, origin, host, started_at AS "startedAt", ended_at AS "endedAt", seen_at AS "seenAt", paused_at AS "pausedAt", pid,
  outcome, success, error_code AS "errorCode", error, hint, requests, sessions, pages, conversations, quarantined`

/** Returns a run's state. Embedded runs die with the process that holds the warehouse; on Temporal, the next worker continues. */
function stateOf(row: Row, isHeld: boolean): RunStatus['state'] {
  const continues = row.outcome === 'preempted' && row.host === 'temporal'
  if (row.endedAt && !continues) return row.outcome === 'killed' ? 'killed' : 'ended'
  if (row.pausedAt) return 'paused'
  if (isHeld) return 'running'
  return row.host === 'temporal' ? 'waiting' : 'killed'
}

function runOf(row: Row, isHeld: boolean): RunStatus {
  const { host: _host, ...run } = row
  const state = stateOf(row, isHeld)
  const killed = state === 'killed'
  const endedAt = run.endedAt ?? (killed ? (run.seenAt ?? run.startedAt) : null)
  return {
    ...run,
    state,
    endedAt,
    durationMs: endedAt === null ? null : Date.parse(endedAt) - Date.parse(run.startedAt),
    ...(killed && { outcome: 'killed', success: false, hint: KILLED_HINT }),
  }
}

/** Removes the end of a preempted run's last part, since the run itself continues. */
const withoutPartialEnd = (run: RunStatus): RunStatus =>
  run.state === 'ended' || run.state === 'killed'
    ? run
    : { ...run, endedAt: null, durationMs: null, outcome: null, success: null }

/** Returns the runs' states. `here`: SQL condition for the workspace; `isHeld`: another process holds the warehouse. */
export async function runsStatus(rows: Rows, here: string, isHeld: () => boolean): Promise<RunsStatus> {
  const newest = async (which: string): Promise<Row | null> => {
    const [row] = await rows<Row>(
      `SELECT ${COLUMNS} FROM _runs WHERE ${here} AND ${IS_RUN} AND ${which} ORDER BY started_at DESC, run LIMIT 1`,
    )
    return row ?? null
  }
  const last = await newest('true')
  if (last === null) return NO_RUNS
  const succeeded = await newest('success')
  const failed = await newest("NOT success AND outcome NOT IN ('interrupted', 'declined')")
  const statusOf = (row: Row | null) => row && runOf(row, isHeld())
  const lastRun = withoutPartialEnd(runOf(last, isHeld()))
  return {
    lastRun,
    lastSuccess: statusOf(succeeded),
    lastFailure: lastRun.state === 'killed' ? lastRun : statusOf(failed),
  }
}
