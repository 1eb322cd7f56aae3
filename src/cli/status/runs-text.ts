// Runs for people: what goes on, or what became of the last one; the last success; the last failure, with what to do.
import { formatDuration } from '../../core/time.ts'
import { ago, counted } from '../../core/words.ts'
import type { RunStatus, RunsStatus } from './runs.ts'

const since = (at: string | null, nowMs: number): string =>
  at === null ? 'at an unknown time' : ago(Date.parse(at), nowMs)

const by = ({ origin }: RunStatus): string => (origin === null ? '' : ` by ${origin}`)

const process = ({ pid }: RunStatus): string => (pid === null ? '' : `, PID ${pid}`)

const brought = ({ conversations, requests, sessions, quarantined }: RunStatus): string =>
  [
    counted(conversations ?? 0, 'conversation'),
    counted(requests ?? 0, 'request'),
    counted(sessions ?? 0, 'session'),
    ...(quarantined ? [`${counted(quarantined, 'record')} quarantined`] : []),
  ].join(', ')

const OUTCOMES: Partial<Record<string, string>> = {
  interrupted: 'stopped on request',
  declined: 'declined, nothing was bought',
}

/** Why, and what to do about it. */
const whyLines = ({ errorCode, error, hint }: RunStatus): string[] => [
  ...(error === null ? [] : [`               ${errorCode === null ? '' : `${errorCode}: `}${error}`]),
  ...(hint === null ? [] : [`               → ${hint}`]),
]

const took = (run: RunStatus): string => formatDuration(run.durationMs ?? 0)

function stateText(run: RunStatus, nowMs: number): string {
  const begun = `begun ${since(run.startedAt, nowMs)}${by(run)}`
  switch (run.state) {
    case 'running':
      return `running, ${begun}${process(run)}`
    case 'paused':
      return `paused ${since(run.pausedAt, nowMs)} (\`convohouse resume\` has it go on), ${begun}`
    case 'waiting':
      return `waiting for a worker of Temporal, last seen ${since(run.seenAt, nowMs)}, ${begun}`
    case 'killed':
      return `killed, last seen ${since(run.endedAt, nowMs)}, ${begun}${process(run)}`
    case 'ended':
      return `${OUTCOMES[run.outcome ?? ''] ?? run.outcome} ${since(run.endedAt, nowMs)}${by(run)}, after ${took(run)} (${brought(run)})`
  }
}

const successLines = (run: RunStatus | null, nowMs: number): string[] =>
  run === null
    ? ['  last success none yet']
    : [`  last success ${since(run.endedAt, nowMs)}${by(run)}, took ${took(run)} (${brought(run)})`, ...whyLines(run)]

function failureLines(run: RunStatus | null, nowMs: number): string[] {
  if (run === null) return []
  const what =
    run.state === 'killed' ? stateText(run, nowMs) : `${since(run.endedAt, nowMs)}${by(run)}, after ${took(run)}`
  return [`  last failure ${what}`, ...whyLines(run)]
}

/** The last run where it is neither of the other two, the last success, and the last failure where there was one. */
export function runLines({ lastRun, lastSuccess, lastFailure }: RunsStatus, nowMs: number): string[] {
  if (lastRun === null) return ['  last run     none yet']
  const isOther =
    ['running', 'paused', 'waiting'].includes(lastRun.state) ||
    (lastRun.run !== lastSuccess?.run && lastRun.run !== lastFailure?.run)
  return [
    ...(isOther ? [`  last run     ${stateText(lastRun, nowMs)}`, ...whyLines(lastRun)] : []),
    ...successLines(lastSuccess, nowMs),
    ...failureLines(lastFailure, nowMs),
  ]
}
