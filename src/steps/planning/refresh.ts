// Decides what an incremental run exports again: changed or requested conversations, ranges that may hide conversations, and
// an occasional random sample. Until all landed pages are loaded, none is chosen: refreshing from stale state pays twice.
import type { SyncRequest } from '../../../workflows/steps.ts'
import { PERIOD_DAYS } from '../../core/planning/estimate.ts'
import { type ConversationKey, groupedByAgent } from '../../core/planning/id-windows.ts'
import { NO_REFRESH, type RefreshRequest } from '../../core/planning/planner.ts'
import { MEASURED_ONE_IN } from '../../core/planning/refresh-rule.ts'
import { EVIDENCE_MS } from '../../core/planning/rereads.ts'
import { DAY } from '../../core/time.ts'
import type { StepsDependencies } from '../dependencies.ts'
import type { PlanningFacts } from './facts.ts'

/** Maximum number of changed conversations that one run refreshes. */
const MAX_DIRTY_PER_RUN = 5_000

const SAMPLE_EVERY_MS = 7 * DAY
/** Samples per billing period. */
const SAMPLES_PER_PERIOD = (PERIOD_DAYS * DAY) / SAMPLE_EVERY_MS
/** Number of ranges read again with each sample although nothing suggests that they hide conversations. */
const SAMPLED_RANGES = 5

interface RefreshContext {
  dependencies: Pick<StepsDependencies, 'settings'> & { facts: PlanningFacts }
  request: SyncRequest
  /** Included sessions of the billing period. */
  includedSessions: number
  nowMs: number
}

function without(keys: readonly ConversationKey[], others: readonly ConversationKey[]): ConversationKey[] {
  const textOf = ({ agentId, id }: ConversationKey) => JSON.stringify([agentId, id])
  const left = new Set(others.map(textOf))
  return keys.filter(key => !left.has(textOf(key)))
}

/** Returns conversations that changed without a new message: all, or, once they are skipped, the few that are measured. */
async function knownIds({ dependencies, nowMs }: RefreshContext) {
  const { facts, settings } = dependencies
  const { quietMs } = settings
  if (settings.refreshOn !== 'auto') return { known: [], measured: null }
  const measured = await facts.measuredRefreshes({ nowMs, quietMs })
  const knownOneIn = measured?.skips ? MEASURED_ONE_IN : 1
  const asked = { beforeMs: nowMs - quietMs, skipKnown: false, knownOneIn, limit: MAX_DIRTY_PER_RUN }
  return { known: await facts.dirtyIds(asked), measured }
}

async function refreshIds(asking: RefreshContext): Promise<ConversationKey[]> {
  const { dependencies, request, nowMs } = asking
  const { settings, facts } = dependencies
  const { refresh, exporting } = request
  const readBeforeMs = nowMs - settings.quietMs
  const dirty = await facts.dirtyIds({
    beforeMs: readBeforeMs,
    skipKnown: settings.refreshOn !== 'change',
    limit: MAX_DIRTY_PER_RUN,
  })
  const aged =
    refresh === null
      ? []
      : await facts.agedIds({
          activeSinceMs: nowMs - refresh.ageMs,
          readBeforeMs: Math.min(readBeforeMs, exporting?.sinceMs ?? readBeforeMs),
        })
  return [...dirty, ...aged]
}

async function sampleIds(asking: RefreshContext, dueMs: number): Promise<ConversationKey[]> {
  const { dependencies, includedSessions, nowMs } = asking
  const { settings, facts } = dependencies
  const count = Math.floor((includedSessions * settings.sampleShare) / SAMPLES_PER_PERIOD)
  if (count < 1 || nowMs < dueMs) return []
  const seed = Math.floor(nowMs / SAMPLE_EVERY_MS)
  return facts.randomIds({ readBeforeMs: nowMs - settings.quietMs, count, seed })
}

/** Returns the ranges to read again, and the sessions that re-reads may still spend: a share of the quota in any 31 days. */
async function rangesToReread(
  { dependencies, includedSessions, nowMs }: RefreshContext,
  sampling: boolean,
): Promise<Pick<RefreshRequest, 'ranges' | 'budgetSessions' | 'late'>> {
  const { settings, facts } = dependencies
  const none = { ranges: [], budgetSessions: 0, late: false }
  if (settings.rereadShare === 0) return none
  const late = await facts.lateRowsSeen(nowMs - EVIDENCE_MS)
  const sinceMs = nowMs - settings.rereadHorizonMs
  const shifted = await facts.shiftedRanges({ sinceMs, mirrorLagMs: settings.mirrorLagMs })
  const hiding = await facts.hidingRanges({
    sinceMs,
    evidenceSinceMs: nowMs - EVIDENCE_MS,
    others: late ? 'all' : sampling ? SAMPLED_RANGES : 0,
    seed: Math.floor(nowMs / SAMPLE_EVERY_MS),
  })
  const ranges = [...shifted, ...hiding]
  if (ranges.length === 0) return none
  const spent = await facts.billedByRereads(nowMs - PERIOD_DAYS * DAY)
  const budget = Math.floor(includedSessions * settings.rereadShare)
  return { ranges, budgetSessions: Math.max(0, budget - spent), late }
}

/** Plans which conversations and ranges to export again. `waiting`: number of landed pages that are not loaded. */
export async function planRefresh(asking: RefreshContext & { waiting: number }): Promise<RefreshRequest> {
  const { dependencies, request, waiting } = asking
  const { settings, facts } = dependencies
  if (request.mode !== 'incremental') return NO_REFRESH
  const asked = { ...NO_REFRESH, horizonMs: settings.rereadHorizonMs, quietMs: settings.quietMs }
  if (waiting > 0) return asked
  const { known, measured } = await knownIds(asking)
  const refresh = [...(await refreshIds(asking)), ...known]
  const dueMs = ((await facts.lastSampledMs()) ?? 0) + SAMPLE_EVERY_MS
  const sample = await sampleIds(asking, dueMs)
  return {
    ...asked,
    refresh: groupedByAgent(refresh),
    known: groupedByAgent(known),
    ...(measured && { measured }),
    sample: groupedByAgent(without(sample, refresh)),
    ...(await rangesToReread(asking, sample.length > 0)),
  }
}
