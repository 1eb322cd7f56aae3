// What of the pipeline's state needs an operator, each in one line, and what to do about it.
import { MINUTE } from '../../../core/time.ts'
import { counted } from '../../../core/words.ts'
import type { RefusedStatus } from '../../../reports/events.ts'
import type { Overdue } from '../../../reports/freshness.ts'
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

const STATUS = '`convohouse status` says more.'
const CODE = '`convohouse status` shows the error; docs/errors.md explains the code.'

const atSecond = (second: number): string => timeText(new Date(second * 1_000).toISOString())

const rangeText = ({ fromSec, toSec }: { fromSec: number | null; toSec: number }): string =>
  `${fromSec === null ? 'the beginning' : atSecond(fromSec)} to ${atSecond(toSec)}`

const agentName = ({ agents }: Pick<ShownStatus, 'agents'>, agentId: string): string =>
  agents.find(agent => agent.agentId === agentId)?.title ?? agentId

const refusals = (refused: readonly RefusedStatus[], whose: string, nowMs: number): Need[] =>
  refused.map(({ reason, count, last }) => ({
    what: `${counted(count, 'webhook request')} ${whose}${count === 1 ? 'was' : 'were'} refused (${reason.replaceAll('-', ' ')}), the last ${agoText(last, nowMs)}`,
    hint: '`convohouse status` says what to do about each reason.',
  }))

function runNeeds({ lastRun, lastSuccess, lastFailure, overdue, events }: ShownStatus, nowMs: number): Need[] {
  const found: Need[] = []
  if (overdue.length > 0) {
    const lastEvent =
      events.types
        .map(({ last }) => last)
        .sort()
        .at(-1) ?? null
    const times = [
      lastSuccess
        ? `the last successful sync ended ${agoText(lastSuccess.endedAt, nowMs)}`
        : 'no sync has succeeded yet',
      lastEvent && `the last event came ${agoText(lastEvent, nowMs)}`,
      events.waitingSince && `events have waited for ${ageText((nowMs - Date.parse(events.waitingSince)) / 1_000)}`,
    ]
    const hint =
      'Check that `convohouse up`, `worker` or `sync --watch` runs; `convohouse status` says what is overdue, and why.'
    found.push({ what: `the data is older than the schedule allows: ${times.filter(Boolean).join(', ')}`, hint })
  }
  if (lastFailure && (lastFailure.endedAt ?? '') > (lastSuccess?.endedAt ?? '')) {
    const how = lastFailure.state === 'killed' ? 'was killed' : 'failed'
    const code = lastFailure.errorCode ? ` (${lastFailure.errorCode})` : ''
    const hint = lastFailure.state === 'killed' ? 'The next sync continues where it stopped.' : CODE
    found.push({ what: `the last sync ${how} ${agoText(lastFailure.endedAt, nowMs)}${code}`, hint })
  }
  if (lastRun?.state === 'paused')
    found.push({
      what: `the sync is paused since ${agoText(lastRun.pausedAt, nowMs)}`,
      hint: '`convohouse resume` continues it.',
    })
  if (lastRun?.state === 'waiting')
    found.push({
      what: `the sync waits for a Temporal worker, last seen ${agoText(lastRun.seenAt, nowMs)}`,
      hint: 'Start one with `convohouse worker` or `convohouse up`.',
    })
  return found
}

function readingNeeds(status: ShownStatus): Need[] {
  const { gaps, unverified, backingOff, findings } = status
  const name = (agentId: string) => agentName(status, agentId)
  return [
    ...gaps.map(gap => ({
      what: `${name(gap.agentId)}: ${rangeText(gap)} cannot be read (${gap.code})`,
      hint: `It is tried again after ${atSecond(gap.retryAtMs / 1_000)}.`,
    })),
    ...unverified.map(range => ({
      what: `${name(range.agentId)}: ${rangeText(range)} is not verified, since conversations left while it was read`,
      hint: '`convohouse ledger` compares it with what the vendor reported.',
    })),
    ...backingOff.map(({ agentId, window, until }) => ({
      what: `${name(agentId)}: ${window} made no progress`,
      hint: `It is tried again at ${timeText(until)}; \`convohouse sync\` tries it now.`,
    })),
    ...(findings.agentsCutOff === null
      ? []
      : [{ what: `the listing of agents ${findings.agentsCutOff}: agents may be missing`, hint: STATUS }]),
    ...(findings.quarantined === 0
      ? []
      : [
          {
            what: `${counted(findings.quarantined, 'record')} could not be loaded`,
            hint: '`convohouse quarantine list` shows which records, and why.',
          },
        ]),
  ]
}

function quotaNeeds({ quota }: ShownStatus): Need[] {
  if (quota === null) return []
  const { sessionsLeft, includedSessions, overagePacks } = quota
  const packs = overagePacks > 0 ? `; the vendor has charged ${counted(overagePacks, 'overage pack')}` : ''
  if (sessionsLeft > 0 && overagePacks === 0) return []
  return [
    {
      what: `the ${counted(includedSessions, 'included session')} are used up${packs}`,
      hint: 'Exports wait for the next period, unless `--allow-overage-packs` permits more.',
    },
  ]
}

function eventNeeds({ events }: ShownStatus, nowMs: number): Need[] {
  const { failing, unreadableSegments, damaged, refused } = events
  return [
    ...(failing === null
      ? []
      : [
          {
            what: `webhook events are not applied since ${agoText(failing.since, nowMs)} (${failing.code})`,
            hint:
              nowMs - Date.parse(failing.nextTry) > MINUTE
                ? `The next try was due ${agoText(failing.nextTry, nowMs)}: process ${failing.pid} has ended or hangs.`
                : CODE,
          },
        ]),
    ...(unreadableSegments === 0
      ? []
      : [{ what: `${counted(unreadableSegments, 'segment')} of the spool cannot be read`, hint: STATUS }]),
    ...(damaged === 0
      ? []
      : [
          {
            what: `${counted(damaged, 'webhook event')} ${damaged === 1 ? 'is' : 'are'} damaged on disk`,
            hint: '`convohouse query "FROM _issues"` names the files.',
          },
        ]),
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

function targetNeeds(target: Pipeline['targets'][number], nowMs: number): Need[] {
  const { target: name, overdue, failure, isGone, selectingNone } = target
  const found: Need[] = []
  if (overdue.length > 0)
    found.push({
      what: `the target ${name} is older than its schedule allows: ${lackText(target)}`,
      hint: '`convohouse up`, `worker` and `sync --watch` publish; after a single `sync`, run `convohouse publish`.',
    })
  if (failure !== null)
    found.push({
      what: `publishing to ${name} fails since ${agoText(failure.since, nowMs)} (${failure.code})`,
      hint: CODE,
    })
  if (isGone) found.push({ what: `the files of ${name} are no longer there`, hint: 'The next publication writes it.' })
  if (selectingNone.length > 0)
    found.push({ what: `the rows of ${name}: nothing is selected by ${selectingNone.join(', ')}`, hint: STATUS })
  return found
}

/** Names of agents, workspaces and targets stay as they are. */
const capital = (text: string): string =>
  text.replace(/^(the|no|webhook|publishing) /, word => word[0]!.toUpperCase() + word.slice(1))

/** Returns the needs, those that stop data first. */
export function needsOf(pipeline: Pipeline, nowMs: number): Need[] {
  const { workspaces, webhooksRefused, checks, models, held, targets } = pipeline
  const ofWorkspace = workspaces.flatMap(status => {
    const found = [
      ...runNeeds(status, nowMs),
      ...quotaNeeds(status),
      ...readingNeeds(status),
      ...eventNeeds(status, nowMs),
    ]
    return workspaces.length === 1
      ? found
      : found.map(({ what, hint }) => ({ what: `${status.workspaceId}: ${what}`, hint }))
  })
  const all: Need[] = [
    ...ofWorkspace,
    ...targets.flatMap(target => targetNeeds(target, nowMs)),
    ...checks.map(check => ({
      what: `the check ${check.name} did not pass: ${checkText(check)}`,
      hint: `\`convohouse check ${check.name}\` shows rows${check.blocks ? `; until it passes, targets with ${check.table} stay as they are` : ''}.`,
    })),
    ...models.map(({ name, outcome }) => ({
      what: `the model ${name} could not be built (${outcome})`,
      hint: '`convohouse status` shows why.',
    })),
    ...held.map(one => ({
      what: `the ${heldText(one)} ${agoText(one.heldAt, nowMs)}, and is refused: ${one.name}`,
      hint:
        one.kind === 'query'
          ? 'It is accepted again an hour later.'
          : 'It is tried again when it or the limit changes.',
    })),
    ...refusals(webhooksRefused, 'of an unknown workspace ', nowMs),
  ]
  return all.map(({ what, hint }) => ({ what: capital(what), hint }))
}
