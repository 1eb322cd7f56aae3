// What of the pipeline's state needs an operator, each in one line, and what to do about it.
import { type Overdue, overdue } from '../../../core/overdue.ts'
import { MINUTE } from '../../../core/time.ts'
import { counted } from '../../../core/words.ts'
import type { RefusedStatus } from '../../../reports/events.ts'
import type { TargetStatus } from '../../../reports/publications.ts'
import type { RunStatus } from '../../../reports/runs.ts'
import type { WorkspaceStatus } from '../../../reports/status.ts'
import type { StoredResult } from '../../../warehouse/checks/results.ts'
import type { StoredModel } from '../../../warehouse/models/stored-models.ts'
import type { HeldStatement } from '../../../warehouse/statements/held.ts'
import type { HIDDEN_KEYS } from '../../http/health-route.ts'
import { ageText, agoText, timeText } from '../format/dates.ts'

type Hidden = (typeof HIDDEN_KEYS)[number]

type Shown<T> = T extends readonly (infer One)[]
  ? Shown<One>[]
  : T extends object
    ? { [Key in keyof T as Key extends Hidden ? never : Key]: Shown<T[Key]> }
    : T

/** What `convohouse status --json` prints, as `/v1/health` passes it on. */
export interface Pipeline {
  webhooksRefused: RefusedStatus[]
  checks: Shown<StoredResult>[]
  models: Shown<StoredModel>[]
  workspaces: ShownStatus[]
  targets: Shown<TargetStatus & { overdue: Overdue[] }>[]
  held: Shown<HeldStatement>[]
}

export type ShownStatus = Shown<WorkspaceStatus>
export type ShownRun = Shown<RunStatus>

export interface Need {
  what: string
  hint: string
}

type Maybe = Need | false | null

const STATUS = '`convohouse status` says more.'
const CODE = '`convohouse status` shows the error; docs/errors.md explains the code.'

const need = (what: string, hint: string): Need => ({ what, hint })

const atSecond = (second: number): string => timeText(new Date(second * 1_000).toISOString())

const rangeText = ({ fromSec, toSec }: { fromSec: number | null; toSec: number }): string =>
  `${fromSec === null ? 'the beginning' : atSecond(fromSec)} to ${atSecond(toSec)}`

const refusals = (refused: readonly RefusedStatus[], whose: string, nowMs: number): Need[] =>
  refused.map(({ reason, count, last }) =>
    need(
      `${counted(count, 'webhook request')} ${whose}${count === 1 ? 'was' : 'were'} refused (${reason.replaceAll('-', ' ')}), the last ${agoText(last, nowMs)}`,
      '`convohouse status` says what to do about each reason.',
    ),
  )

const overdueNeeds = (found: Shown<readonly Overdue[]>, subject: string, nowMs: number): Need[] =>
  found.map(({ kind, since }) => {
    const { what, hint } = overdue(kind, Date.parse(since), nowMs)
    return need(`${subject}${what}`, hint)
  })

function failureNeed({ state, endedAt, errorCode }: ShownRun, nowMs: number): Need {
  const code = errorCode ? ` (${errorCode})` : ''
  return state === 'killed'
    ? need(`the last sync was killed ${agoText(endedAt, nowMs)}${code}`, 'The next sync continues where it stopped.')
    : need(`the last sync failed ${agoText(endedAt, nowMs)}${code}`, CODE)
}

function runNeeds(status: ShownStatus, nowMs: number): Maybe[] {
  const { lastRun, lastSuccess, lastFailure } = status
  return [
    ...overdueNeeds(status.overdue, '', nowMs),
    lastFailure && (lastFailure.endedAt ?? '') > (lastSuccess?.endedAt ?? '') && failureNeed(lastFailure, nowMs),
    lastRun?.state === 'paused' &&
      need(`the sync is paused since ${agoText(lastRun.pausedAt, nowMs)}`, '`convohouse resume` continues it.'),
    lastRun?.state === 'waiting' &&
      need(
        `the sync waits for a Temporal worker, last seen ${agoText(lastRun.seenAt, nowMs)}`,
        'Start one with `convohouse worker` or `convohouse up`.',
      ),
  ]
}

function quotaNeed({ quota }: ShownStatus): Maybe {
  if (quota === null || (quota.sessionsLeft > 0 && quota.overagePacks === 0)) return null
  const { includedSessions, overagePacks } = quota
  const packs = overagePacks > 0 ? `; the vendor has charged ${counted(overagePacks, 'overage pack')}` : ''
  return need(
    `the ${counted(includedSessions, 'included session')} are used up${packs}`,
    'Exports wait for the next period, unless `--allow-overage-packs` permits more.',
  )
}

function readingNeeds({ agents, gaps, unverified, backingOff, findings }: ShownStatus): Maybe[] {
  const name = (id: string) => agents.find(({ agentId }) => agentId === id)?.title ?? id
  const { agentsCutOff, quarantined } = findings
  return [
    ...gaps.map(gap =>
      need(
        `${name(gap.agentId)}: ${rangeText(gap)} cannot be read (${gap.code})`,
        `It is tried again after ${atSecond(gap.retryAtMs / 1_000)}.`,
      ),
    ),
    ...unverified.map(range =>
      need(
        `${name(range.agentId)}: ${rangeText(range)} is not verified, since conversations left while it was read`,
        '`convohouse ledger` compares it with what the vendor reported.',
      ),
    ),
    ...backingOff.map(({ agentId, window, until }) =>
      need(
        `${name(agentId)}: ${window} made no progress`,
        `It is tried again at ${timeText(until)}; \`convohouse sync\` tries it now.`,
      ),
    ),
    agentsCutOff !== null && need(`the listing of agents ${agentsCutOff}: agents may be missing`, STATUS),
    quarantined > 0 &&
      need(
        `${counted(quarantined, 'record')} could not be loaded`,
        '`convohouse quarantine list` shows which records, and why.',
      ),
  ]
}

function eventNeeds({ events }: ShownStatus, nowMs: number): Maybe[] {
  const { failing, unreadableSegments, damaged, refused } = events
  return [
    failing &&
      need(
        `webhook events are not applied since ${agoText(failing.since, nowMs)} (${failing.code})`,
        nowMs - Date.parse(failing.nextTry) > MINUTE
          ? `The next try was due ${agoText(failing.nextTry, nowMs)}: process ${failing.pid} has ended or hangs.`
          : CODE,
      ),
    unreadableSegments > 0 && need(`${counted(unreadableSegments, 'segment')} of the spool cannot be read`, STATUS),
    damaged > 0 &&
      need(
        `${counted(damaged, 'webhook event')} ${damaged === 1 ? 'is' : 'are'} damaged on disk`,
        '`convohouse query "FROM _issues"` names the files.',
      ),
    ...refusals(refused, '', nowMs),
  ]
}

/** Returns what a check found, in words. */
function checkText({ outcome, violations, severity }: Pipeline['checks'][number]): string {
  if (outcome === 'failed') return `${counted(violations ?? 0, 'row')} (${severity})`
  return outcome === 'broken' ? 'cannot run' : 'takes too long'
}

const heldText = ({ kind, limit, memoryLimit, timeoutMs }: Pipeline['held'][number]): string =>
  `${kind} passed its ${limit === 'memory' ? `memory limit (${memoryLimit})` : `time limit (${Math.round(timeoutMs / 1_000)} s)`}`

/** Describes what a target lacks, and for how long. */
export function lackText({
  behind,
  lagSeconds,
  isGone,
}: Pick<TargetStatus, 'behind' | 'lagSeconds' | 'isGone'>): string {
  if (isGone) return 'its files are no longer there: the next publication writes it from empty'
  if (behind === 0) return 'has every change'
  const waits = lagSeconds ? `, the oldest for ${ageText(lagSeconds)}` : ''
  return behind === null ? `must be written from empty${waits}` : `${counted(behind, 'change')} behind${waits}`
}

function targetNeeds(target: Pipeline['targets'][number], nowMs: number): Maybe[] {
  const { target: name, failure, isGone, selectingNone } = target
  return [
    ...overdueNeeds(target.overdue, `the target ${name} `, nowMs),
    failure && need(`publishing to ${name} fails since ${agoText(failure.since, nowMs)} (${failure.code})`, CODE),
    isGone && need(`the files of ${name} are no longer there`, 'The next publication writes it.'),
    selectingNone.length > 0 && need(`the rows of ${name}: nothing is selected by ${selectingNone.join(', ')}`, STATUS),
  ]
}

/** Names of agents, workspaces and targets stay as they are. */
const capital = (text: string): string =>
  text.replace(/^(the|no|webhook|publishing) /, word => word[0]!.toUpperCase() + word.slice(1))

const isNeed = (one: Maybe): one is Need => Boolean(one)

/** Returns the needs, those that stop data first. */
export function needsOf(pipeline: Pipeline, nowMs: number): Need[] {
  const { workspaces, webhooksRefused, checks, models, held, targets } = pipeline
  const ofWorkspace = workspaces.flatMap(status => {
    const found = [runNeeds(status, nowMs), quotaNeed(status), readingNeeds(status), eventNeeds(status, nowMs)].flat()
    const prefix = workspaces.length === 1 ? '' : `${status.workspaceId}: `
    return found.filter(isNeed).map(({ what, hint }) => need(prefix + what, hint))
  })
  const all: Maybe[] = [
    ...ofWorkspace,
    ...targets.flatMap(target => targetNeeds(target, nowMs)),
    ...checks.map(check =>
      need(
        `the check ${check.name} did not pass: ${checkText(check)}`,
        `\`convohouse check ${check.name}\` shows rows${check.blocks ? `; until it passes, targets with ${check.table} stay as they are` : ''}.`,
      ),
    ),
    ...models.map(({ name, outcome }) =>
      need(`the model ${name} could not be built (${outcome})`, '`convohouse status` shows why.'),
    ),
    ...held.map(one =>
      need(
        `the ${heldText(one)} ${agoText(one.heldAt, nowMs)}, and is refused: ${one.name}`,
        one.kind === 'query'
          ? 'It is accepted again an hour later.'
          : 'It is tried again when it or the limit changes.',
      ),
    ),
    ...refusals(webhooksRefused, 'of an unknown workspace ', nowMs),
  ]
  return all.filter(isNeed).map(({ what, hint }) => need(capital(what), hint))
}
