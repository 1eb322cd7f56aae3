// The status for people.
import { formatDuration, SECOND } from '../../core/time.ts'
import { ago, bytes, count, counted } from '../../core/words.ts'
import type { QuotaStatus } from '../../reports/quota.ts'
import { isSegment } from '../../vendor/address.ts'
import { eventsText } from '../sync/progress-text.ts'
import { type GridOptions, grid } from '../terminal/grid.ts'
import { hintOf, refusedText } from '../terminal/refusal-text.ts'
import { plain } from '../terminal/style.ts'
import type { AgentStatus, Span } from './agents.ts'
import type { EventsStatus, RefusedStatus } from './events.ts'
import type { Finding } from './findings.ts'
import { runLines } from './runs-text.ts'
import type { WorkspaceStatus } from './workspace.ts'

const COLUMNS = [
  { name: 'agent' },
  { name: 'title' },
  { name: 'conversations', right: true },
  { name: 'oldest (UTC)' },
  { name: 'newest (UTC)' },
  { name: 'covered (UTC)' },
  { name: 'open', right: true },
]

const second = (at: string | null): string => (at === null ? '' : at.slice(0, 19).replace('T', ' '))

const spanText = ({ from, to }: Span): string => `${from === null ? 'the beginning' : second(from)} – ${second(to)}`

function coveredText({ covered, gaps }: AgentStatus): string {
  const [begin, end] = [covered[0], covered.at(-1)]
  if (!begin || !end) return 'nothing yet'
  const whole = spanText({ from: begin.from, to: end.to })
  return gaps.length === 0 ? whole : `${whole}, ${counted(gaps.length, 'gap')}`
}

const agentRow = (agent: AgentStatus): string[] => [
  agent.agentId,
  agent.missingSince ? `${agent.title ?? ''} (gone since ${second(agent.missingSince)})` : (agent.title ?? ''),
  count(agent.conversations),
  second(agent.oldestAt),
  second(agent.newestAt),
  coveredText(agent),
  count(agent.openWindows),
]

function quotaText(quota: QuotaStatus | null, nowMs: number): string {
  if (quota === null) return 'not told yet'
  const sessions = `${count(quota.usedSessions)} of ${counted(quota.includedSessions, 'session')} used, ${count(quota.sessionsLeft)} left`
  const requests = `${count(quota.requestsLeft)} of ${counted(quota.requestsPerHour, 'request')} left this hour`
  return `${sessions}; ${requests} (told ${ago(Date.parse(quota.toldAt), nowMs)})`
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

const timesIn = ({ occurrences, record, exampleFile }: Finding): string =>
  `${counted(occurrences, 'time')}, in ${record}, e.g. in ${exampleFile}`

/** The most frequent findings, and where more is told. */
function findingLines({ findings }: WorkspaceStatus): string[] {
  const { topDrift, topIssues, quarantined } = findings
  return [
    ...topIssues.map(
      issue =>
        `  issue        ${issue.path}: ${issue.issue}${issue.declared ? `, expected ${issue.declared}, found ${issue.seen}` : ''} (${timesIn(issue)})`,
    ),
    ...topDrift.map(drift => `  undeclared   ${drift.path}: ${drift.seen} (${timesIn(drift)})`),
    ...(quarantined > 0 ? ['  quarantine   `convohouse quarantine list` shows which records, and why'] : []),
  ]
}

const cutOffLines = ({ agentsCutOff }: WorkspaceStatus['findings']): string[] =>
  agentsCutOff === null
    ? []
    : [`  agents       the listing ${agentsCutOff}; agents may be missing here, and none is marked as gone`]

const unusableLines = (agents: readonly AgentStatus[]): string[] =>
  agents
    .filter(({ agentId }) => !isSegment(agentId))
    .map(
      ({ agentId }) =>
        `  unusable     agent ${JSON.stringify(agentId)}: no request can carry its ID, so its conversations are not exported`,
    )

const gapLines = (agents: readonly AgentStatus[]): string[] =>
  agents.flatMap(({ agentId, gaps }) => gaps.map(gap => `  gap          ${agentId}: ${spanText(gap)}`))

const restingLines = (resting: WorkspaceStatus['resting']): string[] =>
  resting.map(
    ({ agentId, window, until }) =>
      `  resting      ${agentId}: ${window} came no further; watches and schedules try it again ${second(until)} UTC, \`sync\` at once`,
  )

/** Whoever applies events does so within seconds; only what waits longer is worth a word. */
const SOON_MS = 30 * SECOND

function waitingText({ waitingSince, unreadableSegments }: EventsStatus, nowMs: number): string[] {
  const waitsMs = waitingSince === null ? 0 : nowMs - Date.parse(waitingSince)
  return [
    ...(waitsMs > SOON_MS ? [`the oldest has waited for ${formatDuration(waitsMs)}`] : []),
    ...(unreadableSegments > 0
      ? [`${counted(unreadableSegments, 'segment')} of the spool cannot be read, and their events are not counted`]
      : []),
  ]
}

/** Why events are not applied, and when that is tried again. */
function failingLines({ failing }: EventsStatus, nowMs: number): string[] {
  if (failing === null) return []
  const { what, code, hint, since, nextTry, attempts, pid } = failing
  const isOverdue = nowMs - Date.parse(nextTry) > SOON_MS
  const next = isOverdue
    ? `was to be tried again ${second(nextTry)} UTC: process ${pid}, which applied events, has ended or hangs`
    : `next try ${second(nextTry)} UTC`
  return [
    `  not applied  ${what} (${code})`,
    `               failing for ${formatDuration(nowMs - Date.parse(since))}, ${counted(attempts, 'attempt')}; ${next}`,
    ...(hint === null ? [] : [`               → ${hint}`]),
  ]
}

/** Requests that were refused, and what to do about each kind. */
export const refusedLines = (refused: readonly RefusedStatus[], nowMs: number): string[] =>
  refused.flatMap(({ reason, count: times, first, last }) => [
    `  refused      ${refusedText({ reason, count: times, firstMs: Date.parse(first), lastMs: Date.parse(last) }, nowMs)}`,
    `               → ${hintOf({ reason })}`,
  ])

/** Nothing is said of webhooks where there are none. */
function eventLines({ events }: WorkspaceStatus, nowMs: number): string[] {
  const { received, types, conversationsChanged, conversationsNotExported, failing, unreadableSegments, refused } =
    events
  if (received + unreadableSegments + refused.length === 0 && failing === null) return []
  const about = [
    eventsText(events),
    ...waitingText(events, nowMs),
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

/** Lines about one workspace. */
export function workspaceLines(status: WorkspaceStatus, nowMs: number, options: GridOptions = {}): string[] {
  const { style = plain } = options
  const { landing, agents } = status
  const stretch =
    status.oldestAt && status.newestAt ? `, ${second(status.oldestAt)} – ${second(status.newestAt)} UTC` : ''
  return [
    style('bold', `Workspace ${status.workspaceId}`),
    `  held         ${counted(status.conversations, 'conversation')}${stretch}`,
    ...runLines(status, nowMs),
    `  quota        ${quotaText(status.quota, nowMs)}`,
    `  windows      ${status.openWindows === 0 ? 'all that were begun are finished' : `${counted(status.openWindows, 'window')} begun and not finished`}`,
    ...restingLines(status.resting),
    `  landing      ${counted(landing.pages, 'page')}, ${bytes(landing.bytes)}; ${count(landing.notLoaded)} not loaded yet`,
    ...eventLines(status, nowMs),
    `  findings     ${findingsText(status)}`,
    ...findingLines(status),
    ...cutOffLines(status.findings),
    ...unusableLines(agents),
    ...gapLines(agents),
    ...(agents.length > 0 ? ['', ...grid(COLUMNS, agents.map(agentRow), options)] : []),
  ]
}
