// Asks a loaded history the same questions in memory and in DuckDB, and normalises the answers so that they can be compared.
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import type { PlanningFacts } from '../../src/steps/planning/facts.ts'

/** `stored`: rows of complete conversations. */
type ComparedFacts = PlanningFacts & { stored(): Promise<unknown> }

type Question = (facts: ComparedFacts, nowMs: number) => Promise<unknown>

/** All questions except those that need events, random ones, and `shiftedRanges`, which the facts in memory do not support. */
export const QUESTIONS: Record<string, Question> = {
  // Cuts windows that were opened ahead of the clock, so it runs first, as in a plan.
  coverage: (facts, nowMs) => facts.coverage({ latestMs: nowMs, settleMs: 2 * MINUTE }),
  stored: facts => facts.stored(),
  gaps: (facts, nowMs) => facts.gaps(nowMs),
  billedForGaps: (facts, nowMs) => facts.billedForGaps(nowMs - 5 * DAY),
  leftAgents: facts => facts.leftAgents(),
  knownAgents: facts => facts.knownAgents(),
  goneAgents: facts => facts.goneAgents(),
  openWindows: facts => facts.openWindows(),
  pausedWindows: (facts, nowMs) => facts.pausedWindows(nowMs),
  seenThrough: (facts, nowMs) => facts.seenThrough(nowMs),
  densities: (facts, nowMs) => facts.densities(nowMs),
  reportedPeriods: facts => facts.reportedPeriods(),
  periodSinceMs: async facts => Promise.all((await facts.reportedPeriods()).map(({ key }) => facts.periodSinceMs(key))),
  fullWindows: facts => facts.fullWindows(),
  storedByDay: facts => facts.storedByDay(),
  agedIds: (facts, nowMs) => facts.agedIds({ activeSinceMs: nowMs - 5 * DAY, readBeforeMs: nowMs - 6 * HOUR }),
  lastSampledMs: facts => facts.lastSampledMs(),
  hidingRanges: (facts, nowMs) =>
    facts.hidingRanges({ sinceMs: nowMs - 7 * DAY, evidenceSinceMs: nowMs - 28 * DAY, others: 'all', seed: 1 }),
  lateRowsSeen: (facts, nowMs) => facts.lateRowsSeen(nowMs - 28 * DAY),
  billedByRereads: (facts, nowMs) => facts.billedByRereads(nowMs - 28 * DAY),
}

/** Answers whose order matters. */
const ORDERED = new Set(['reportedPeriods', 'periodSinceMs', 'gaps', 'openWindows'])

/** Rounds computed numbers, and sorts answers without an order. */
function plain(value: unknown, isOrdered: boolean): unknown {
  if (typeof value === 'number') return Number.isInteger(value) ? value : Number(value.toFixed(6))
  if (value instanceof Map) return plain([...value], isOrdered)
  if (Array.isArray(value)) {
    const all = value.map(one => plain(one, isOrdered))
    const byText = (a: unknown, b: unknown) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)
    return isOrdered ? all : all.sort(byText)
  }
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value).filter(([, part]) => part !== undefined)
  return Object.fromEntries(entries.sort().map(([key, part]) => [key, plain(part, isOrdered)]))
}

export const comparable = (name: string, value: unknown): unknown => plain(value, ORDERED.has(name))

/** True if an answer is not empty. */
export const isTelling = (value: unknown): boolean =>
  value instanceof Map ? value.size > 0 : Array.isArray(value) ? value.length > 0 : Boolean(value)
