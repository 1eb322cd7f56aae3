// The status of a workspace as text.

import { isSegment } from '../../client/address.ts'
import type { Overdue } from '../../core/overdue.ts'
import { outcomeText } from '../../core/run-record.ts'
import { formatDuration, SECOND } from '../../core/time.ts'
import { ago, bytes, count, counted } from '../../core/words.ts'
import type { AgentStatus, Span } from '../../reports/coverage.ts'
import type { EventsStatus, RefusedStatus } from '../../reports/events.ts'
import { filterText, type TargetStatus } from '../../reports/publications.ts'
import type { QuotaStatus } from '../../reports/quota.ts'
import type { RunStatus, RunsStatus } from '../../reports/runs.ts'
import type { WorkspaceStatus } from '../../reports/status.ts'
import type { StoredResult } from '../../warehouse/checks/results.ts'
import type { StoredModel } from '../../warehouse/models/stored-models.ts'
import { type HeldStatement, limitText } from '../../warehouse/statements/held.ts'
import { eventsText } from '../sync/progress-text.ts'
import { type GridOptions, grid } from '../terminal/columns.ts'
import { visible } from '../terminal/controls.ts'
import { economyTexts, gapText, hintOf, quotaNotes, refusedText, unverifiedText } from '../terminal/notes.ts'
import { linesIf } from '../terminal/print.ts'
import { plain, type Style } from '../terminal/style.ts'

/** A narrow terminal has no room for the columns at the right. */
const COLUMNS = [
  { name: 'agent', isWhole: true },
  { name: 'title' },
  { name: 'stored', right: true },
  { name: 'covered (UTC)', isWhole: true },
  { name: 'gaps', right: true },
  { name: 'open', right: true },
  { name: 'oldest (UTC)', isWhole: true },
  { name: 'newest (UTC)', isWhole: true },
]

const second = (at: string | null): string => (at === null ? '' : at.slice(0, 19).replace('T', ' '))

const spanText = ({ from, to }: Span): string => `${from === null ? 'the beginning' : second(from)} – ${second(to)}`

const minute = (at: string | null): string => second(at).slice(0, 16)

function coveredText({ covered }: AgentStatus): string {
  const [begin, end] = [covered[0], covered.at(-1)]
  if (!begin || !end) return 'nothing yet'
  return `${begin.from === null ? 'the beginning' : minute(begin.from)} – ${minute(end.to)}`
}

const agentRow = (agent: AgentStatus): string[] => [
  agent.agentId,
  agent.missingSince ? `${agent.title ?? ''} (gone since ${second(agent.missingSince)})` : (agent.title ?? ''),
  count(agent.conversations),
  coveredText(agent),
  count(agent.gaps.length),
  count(agent.openWindows),
  minute(agent.oldestAt),
  minute(agent.newestAt),
]

function quotaText(quota: QuotaStatus | null, nowMs: number): string {
  if (quota === null) return 'not reported yet'
  const sessions = `${count(quota.usedSessions)} of ${counted(quota.includedSessions, 'session')} used, ${count(quota.sessionsLeft)} left${quotaNotes(quota)}`
  const requests = `${count(quota.requestsLeft)} of ${counted(quota.requestsPerHour, 'request')} left this hour`
  return `${sessions}; ${requests} (reported ${ago(Date.parse(quota.reportedAt), nowMs)})`
}

function findingsText({ findings }: WorkspaceStatus): string {
  const { driftPaths, issuePaths, issues, quarantined, secretsRemoved } = findings
  const found = [
    driftPaths > 0 && `${counted(driftPaths, 'undeclared field')} (kept in extra)`,
    issues > 0 && `${counted(issues, 'data issue')} on ${counted(issuePaths, 'path')}`,
    quarantined > 0 && `${counted(quarantined, 'record')} quarantined`,
    secretsRemoved > 0 && `${counted(secretsRemoved, 'secret')} removed before landing`,
  ].filter(text => text !== false)
  return found.length === 0 ? 'none' : found.join(', ')
}

/** Returns lines that name the commands to list the findings, and the reason of an incomplete listing. */
const findingLines = ({ driftPaths, issuePaths, quarantined, agentsCutOff }: WorkspaceStatus['findings']): string[] => [
  ...linesIf(
    issuePaths > 0,
    '  issues       `convohouse query "FROM _issues"` shows them, each with a file that has it',
  ),
  ...linesIf(
    driftPaths > 0,
    '  undeclared   `convohouse query "FROM _drift"` shows them, each with a file that has it',
  ),
  ...linesIf(quarantined > 0, '  quarantine   `convohouse quarantine list` shows which records, and why'),
  ...linesIf(
    agentsCutOff !== null,
    `  agents       the listing ${agentsCutOff}; agents may be missing here, and none is marked as gone`,
  ),
]

const unusableLines = (agents: readonly AgentStatus[]): string[] =>
  agents
    .filter(({ agentId }) => !isSegment(agentId))
    .map(
      ({ agentId }) =>
        `  unusable     agent ${JSON.stringify(agentId)} is not exported: its ID cannot be part of a URL`,
    )

const gapLines = (agents: readonly AgentStatus[]): string[] =>
  agents.flatMap(({ agentId, gaps }) => gaps.map(gap => `  gap          ${agentId}: ${spanText(gap)}`))

const backingOffLines = (windows: WorkspaceStatus['backingOff']): string[] =>
  windows.map(
    ({ agentId, window, until }) =>
      `  backing off  ${agentId}: ${window} made no progress; watch mode and schedules retry it at ${second(until)} UTC, \`sync\` retries it now`,
  )

/** Events are normally applied within seconds; longer waits are shown. */
const SOON_MS = 30 * SECOND

function waitingText({ waitingSince, unreadableSegments }: EventsStatus, nowMs: number): string[] {
  const waitsMs = waitingSince === null ? 0 : nowMs - Date.parse(waitingSince)
  const unreadable = `${counted(unreadableSegments, 'segment')} of the spool cannot be read; events in unreadable segments are not counted`
  return [
    ...linesIf(waitsMs > SOON_MS, `the oldest has waited for ${formatDuration(waitsMs)}`),
    ...linesIf(unreadableSegments > 0, unreadable),
  ]
}

/** Describes why events are not applied, and when the next attempt is. */
function failingLines({ failing }: EventsStatus, nowMs: number): string[] {
  if (failing === null) return []
  const { what, code, hint, since, nextTry, attempts, pid } = failing
  const isOverdue = nowMs - Date.parse(nextTry) > SOON_MS
  const next = isOverdue
    ? `the next try was due ${second(nextTry)} UTC: process ${pid}, which applied events, has ended or hangs`
    : `next try ${second(nextTry)} UTC`
  return [
    `  not applied  ${visible(what)} (${code})`,
    `               failing for ${formatDuration(nowMs - Date.parse(since))}, ${counted(attempts, 'attempt')}; ${next}`,
    ...(hint === null ? [] : [`               → ${hint}`]),
  ]
}

/** Describes refused requests, and what to do about each kind. */
export const refusedLines = (refused: readonly RefusedStatus[], nowMs: number): string[] =>
  refused.flatMap(({ reason, count: times, first, last }) => [
    `  refused      ${refusedText({ reason, count: times, firstMs: Date.parse(first), lastMs: Date.parse(last) }, nowMs)}`,
    `               → ${hintOf({ reason })}`,
  ])

/** Returns the lines about webhook events; none for a workspace without webhooks. */
function eventLines({ events }: WorkspaceStatus, nowMs: number): string[] {
  const { received, types, conversationsChanged, conversationsNotExported, failing, unreadableSegments, refused } =
    events
  if (received + unreadableSegments + refused.length === 0 && failing === null) return []
  const about = [
    eventsText(events),
    ...waitingText(events, nowMs),
    ...(events.damaged > 0 ? [`${count(events.damaged)} damaged on disk (\`_issues\` names the files)`] : []),
    ...(conversationsChanged > 0 ? [`${counted(conversationsChanged, 'conversation')} changed since exported`] : []),
    ...(conversationsNotExported > 0 ? [`${count(conversationsNotExported)} not exported yet`] : []),
  ]
  return [
    `  webhooks     ${about.join('; ')}`,
    ...failingLines(events, nowMs),
    ...refusedLines(refused, nowMs),
    ...types.map(
      ({ type, events: of, last }) => `  event        ${type}: ${count(of)}, last ${ago(Date.parse(last), nowMs)}`,
    ),
  ]
}

/** Returns an error for use within a sentence, since DuckDB's may end with an exclamation mark. */
const withoutEnd = (error: string | null): string => visible((error ?? '').replace(/[.!]$/, ''))

/** Describes the result of a check in words. */
function checkText({ outcome, violations, severity, error }: StoredResult): string {
  if (outcome === 'failed') return `${counted(violations ?? 0, 'row')} (${severity})`
  return outcome === 'broken' ? `cannot run: ${withoutEnd(error)}` : 'takes too long'
}

/** Returns the lines about checks that did not pass. */
export const checkLines = (results: readonly StoredResult[], nowMs: number): string[] => [
  'Checks that did not pass (`convohouse check` runs all of them; with a name, it shows rows)',
  ...results.map(
    result =>
      `  ${visible(result.name)}: ${checkText(result)}, ${ago(Date.parse(result.checkedAt), nowMs)}${result.blocks && result.outcome === 'failed' ? `; targets with ${result.table} stay as they are` : ''}`,
  ),
]

/** Describes which rows a model has that could not be built. An erasure removes the rows of all models. */
export function modelText({ columns, rows }: Pick<StoredModel, 'columns' | 'rows'>): string {
  if (columns.length === 0) return 'has no table yet'
  return rows === 0 ? 'has no rows' : 'keeps its former rows'
}

export const modelLines = (models: readonly StoredModel[], nowMs: number): string[] => [
  'Models that could not be built',
  ...models.map(model => {
    const { name, error, hint, triedAt } = model
    const next = hint === null ? '' : `. ${visible(hint)}`
    return `  ${visible(name)}.sql ${modelText(model)}: ${withoutEnd(error)}, ${ago(Date.parse(triedAt), nowMs)}${next}`
  }),
]

/** Returns lines about statements that are refused: a query for an hour, a model or check until it or the limit changes. */
export const heldLines = (held: readonly HeldStatement[], nowMs: number): string[] => [
  'Held: each passed a limit, and its process had to be ended',
  ...held.map(
    one => `  ${one.kind} ${visible(one.name)}: passed ${limitText(one)}, ${ago(Date.parse(one.heldAt), nowMs)}`,
  ),
]

const overdueLines = (overdue: readonly Overdue[], style: Style): string[] =>
  overdue.flatMap(({ what, hint }) => [style('yellow', `  overdue      ${what}`), `               → ${hint}`])

/** Returns the lines about one workspace. */
export function workspaceLines(status: WorkspaceStatus, nowMs: number, options: GridOptions = {}): string[] {
  const { style = plain } = options
  const { landing, agents } = status
  const span = status.oldestAt && status.newestAt ? `, ${second(status.oldestAt)} – ${second(status.newestAt)} UTC` : ''
  return [
    style('bold', `Workspace ${status.workspaceId}`),
    `  stored       ${counted(status.conversations, 'conversation')}${span}`,
    ...runLines(status, nowMs),
    ...overdueLines(status.overdue, style),
    `  quota        ${quotaText(status.quota, nowMs)}`,
    `  windows      ${status.openWindows === 0 ? 'none unfinished' : `${counted(status.openWindows, 'window')} started and not finished`}`,
    ...backingOffLines(status.backingOff),
    `  landing      ${counted(landing.pages, 'page')} (${count(landing.conversationPages)} of conversations, the others of other resources), ${bytes(landing.bytes)}; ${count(landing.notLoaded)} not loaded yet`,
    ...eventLines(status, nowMs),
    ...economyTexts(status).map(text => `  economy      ${text}`),
    `  findings     ${findingsText(status)}`,
    ...findingLines(status.findings),
    ...unusableLines(agents),
    ...gapLines(agents),
    ...status.gaps.map(gap => `  unreadable   ${gapText(gap)}`),
    ...status.unverified.map(range => `  unverified   ${unverifiedText(range)}`),
    ...(agents.length > 0 ? ['', ...grid(COLUMNS, agents.map(agentRow), options)] : []),
  ]
}

const since = (at: string | null, nowMs: number): string =>
  at === null ? 'at an unknown time' : ago(Date.parse(at), nowMs)

const by = ({ origin }: RunStatus): string => (origin === null ? '' : ` by ${origin}`)

const process = ({ pid }: RunStatus): string => (pid === null ? '' : `, PID ${pid}`)

const counts = ({ conversations, requests, sessions, quarantined }: RunStatus): string =>
  [
    counted(conversations ?? 0, 'conversation'),
    counted(requests ?? 0, 'request'),
    counted(sessions ?? 0, 'session'),
    ...(quarantined ? [`${counted(quarantined, 'record')} quarantined`] : []),
  ].join(', ')

/** Returns a run's error and hint. */
const whyLines = ({ errorCode, error, hint }: RunStatus): string[] => [
  ...(error === null ? [] : [`               ${errorCode === null ? '' : `${errorCode}: `}${visible(error)}`]),
  ...(hint === null ? [] : [`               → ${hint}`]),
]

const took = (run: RunStatus): string => formatDuration(run.durationMs ?? 0)

function stateText(run: RunStatus, nowMs: number): string {
  const started = `started ${since(run.startedAt, nowMs)}${by(run)}`
  switch (run.state) {
    case 'running':
      return `running, ${started}${process(run)}`
    case 'paused':
      return `paused ${since(run.pausedAt, nowMs)} (\`convohouse resume\` continues it), ${started}`
    case 'waiting':
      return `waiting for a Temporal worker, last seen ${since(run.seenAt, nowMs)}, ${started}`
    case 'killed':
      return `killed, last seen ${since(run.endedAt, nowMs)}, ${started}${process(run)}`
    case 'ended':
      return `${outcomeText(run.outcome ?? 'ended', run.success === true)} ${since(run.endedAt, nowMs)}${by(run)}, after ${took(run)} (${counts(run)})`
  }
}

const successLines = (run: RunStatus | null, nowMs: number): string[] =>
  run === null
    ? ['  last success none yet']
    : [`  last success ${since(run.endedAt, nowMs)}${by(run)}, took ${took(run)} (${counts(run)})`, ...whyLines(run)]

function failureLines(run: RunStatus | null, nowMs: number): string[] {
  if (run === null) return []
  const failure =
    run.state === 'killed' ? stateText(run, nowMs) : `${since(run.endedAt, nowMs)}${by(run)}, after ${took(run)}`
  return [`  last failure ${failure}`, ...whyLines(run)]
}

/** Returns the lines about the last success, the last failure if any, and the last run unless it is one of these two. */
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

type Lack = Pick<TargetStatus, 'behind' | 'lagSeconds' | 'isGone'>

/** Describes what the target lacks, and for how long. */
export function lackText({ behind, lagSeconds, isGone }: Lack): string {
  if (isGone) return 'its files are no longer there: the next publication writes it from empty'
  if (behind === 0) return 'has every change'
  const waits = lagSeconds === null ? '' : `, for ${formatDuration(lagSeconds * SECOND)}`
  return behind === null ? `must be written from empty${waits}` : `${counted(behind, 'change')} behind${waits}`
}

const freshness = (status: TargetStatus, nowMs: number): string =>
  status.asOf === null ? 'never' : `${ago(Date.parse(status.asOf), nowMs)}; ${lackText(status)}`

export const targetLines = (
  status: TargetStatus & { overdue: Overdue[] },
  nowMs: number,
  style: Style = plain,
): string[] => {
  const { target, type, place, failure } = status
  const filter = filterText(status)
  return [
    style('bold', `Target ${target}`),
    `  ${type.padEnd(12)} ${place}`,
    `  published    ${freshness(status, nowMs)}`,
    ...overdueLines(status.overdue, style),
    ...(filter === null ? [] : [`  rows         ${visible(filter)}`]),
    ...(status.unfit === null ? [] : [`  cannot hold  ${visible(status.unfit)}`]),
    ...(failure === null
      ? []
      : [
          `  last failure ${ago(Date.parse(failure.at), nowMs)}; ${counted(failure.attempts, 'failed attempt')} since the last success`,
          `               ${failure.code}: ${visible(failure.what)}`,
          ...(failure.hint === null ? [] : [`               → ${failure.hint}`]),
        ]),
  ]
}
