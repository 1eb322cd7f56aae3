// Describes the differences of a reconciliation in words: what each means, and what the user can do.

import type { WorkspaceConfig } from '../../config.ts'
import { durationText } from '../../core/time.ts'
import { count, counted } from '../../core/words.ts'
import type { ReadCoverage, Uncovered } from '../../reports/coverage.ts'
import type { Difference } from '../../reports/reconciliation.ts'

export interface DescribedDifference extends Difference {
  what: string
  hint: string
}

/** The settings that hints name. */
export type Settings = Pick<WorkspaceConfig, 'quietMs' | 'refreshOn' | 'rereadHorizonMs' | 'rereadShare'>

interface DifferenceContext {
  coverage: ReadCoverage
  /** Undefined for a workspace that is in the warehouse but not configured. */
  settings: Settings | undefined
}

type Describe = (n: number, context: DifferenceContext) => Pick<DescribedDifference, 'what' | 'hint'>

/** `is` or `are`, `was` or `were`. */
const verb = (n: number, one: string, many: string): string => (n === 1 ? one : many)

const EXPORT_INCOMPLETE =
  'convohouse query "SELECT agent_id, conversation_id FROM conversations WHERE NOT _complete AND _missing_since IS NULL AND _not_exportable_since IS NULL" --format csv | tail -n +2 | convohouse sync --ids -'

function rereadText(settings: Settings | undefined): string {
  if (settings?.rereadShare === 0) return 'With a `rereadShare` above 0, `convohouse sync` reads such ranges again'
  const within = settings ? `the last ${durationText(settings.rereadHorizonMs)}` : 'its horizon'
  return `\`convohouse sync\` automatically rereads time ranges with skipped conversations within ${within}; a longer \`rereadHorizon\` includes older ones`
}

const skipped: Describe = (n, { settings }) => ({
  what: `${counted(n, 'conversation')} ${verb(n, 'was', 'were')} scanned and not returned, since no person had written in ${verb(n, 'it', 'them')}: skipped, not billed.`,
  hint: `${rereadText(settings)}. Rereading a range also bills the other conversations in it again.`,
})

const quarantined: Describe = n => ({
  what: `${counted(n, 'record')} ${verb(n, 'was', 'were')} returned and could not be loaded; the landing keeps ${verb(n, 'it', 'them')}.`,
  hint: '`convohouse quarantine list` says why; `convohouse quarantine retry` tries to load them again.',
})

const incomplete: Describe = n => ({
  what: `${counted(n, 'row is', 'rows are')} incomplete: only events have reported ${verb(n, 'it', 'them')}.`,
  hint: `Export the full records: ${EXPORT_INCOMPLETE}`,
})

function refreshText(n: number, settings: Settings | undefined): string {
  const after = `After ${settings ? durationText(settings.quietMs) : 'some time'} without a change, \`convohouse sync\` exports`
  if (settings?.refreshOn !== 'message') return `${after} ${verb(n, 'it', 'them')} again.`
  return `${after} those with a new message again, and those whose change no event reported; with \`refreshOn: change\`, it exports all of them again.`
}

const stale: Describe = (n, { settings }) => ({
  what: `${counted(n, 'row')} ${verb(n, 'has', 'have')} changed since ${verb(n, 'it was', 'they were')} exported.`,
  hint: refreshText(n, settings),
})

const missing: Describe = n => ({
  what: `${counted(n, 'row')} ${verb(n, 'was', 'were')} requested again and not returned: the vendor no longer has ${verb(n, 'it', 'them')}.`,
  hint: 'Nothing to do: stored rows are kept.',
})

const notExportable: Describe = n => ({
  what: `${counted(n, 'row')} ${verb(n, 'was', 'were')} requested by id, scanned and not returned: no person has written in ${verb(n, 'it', 'them')}.`,
  hint: `Nothing to do: ${verb(n, 'it is', 'they are')} requested again when an event reports a change.`,
})

/** At most this many are named; the others are only counted. */
const MAX_NAMED = 5

function listed(texts: readonly string[]): string {
  const more = texts.length - MAX_NAMED
  return `${texts.slice(0, MAX_NAMED).join('; ')}${more > 0 ? `; and ${count(more)} more` : ''}`
}

const spanText = ({ agentId, from, to }: Uncovered): string =>
  `${agentId} ${from === null ? 'from the beginning' : from.slice(0, 10)} to ${to.slice(0, 10)}`

const uncovered: Describe = (n, { coverage: { uncovered: spans } }) => {
  const days = spans.reduce((sum, span) => sum + (span.days ?? 0), 0)
  const endless = spans.some(span => span.days === null) ? ' and all earlier time' : ''
  return {
    what: `${counted(n, 'span')} of time not covered (${counted(days, 'day')}${endless}): ${listed(spans.map(spanText))}.`,
    hint: '`convohouse sync` reads the part within the configured range; `convohouse plan` estimates the cost as far as it can be known.',
  }
}

const unread: Describe = (n, { coverage: { unread: agents } }) => ({
  what: `${counted(n, 'agent')} ${verb(n, 'has', 'have')} not been read, or ${verb(n, 'has', 'have')} an unfinished window: ${listed(agents)}.`,
  hint: '`convohouse sync` reads them as far as the quota allows; `convohouse plan` shows what is left to read.',
})

const DESCRIBED: Record<Difference['kind'], Describe> = {
  skipped,
  quarantined,
  incomplete,
  stale,
  missing,
  notExportable,
  uncovered,
  unread,
}

export const describeDifference = (
  { kind, count, sessions }: Difference,
  context: DifferenceContext,
): DescribedDifference => ({ kind, count, ...DESCRIBED[kind](count, context), sessions })
