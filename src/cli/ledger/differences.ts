// Describes the differences of a reconciliation in words: their meaning, and what the user can do.

import type { WorkspaceConfig } from '../../config.ts'
import { durationText } from '../../core/time.ts'
import { agreeing, count, counted, utc } from '../../core/words.ts'
import type { Uncovered } from '../../reports/coverage.ts'
import type { Difference, WorkspaceReconciliation } from '../../reports/reconciliation.ts'
import { gapText } from '../terminal/notes.ts'

export interface DescribedDifference extends Difference {
  what: string
  hint: string
}

/** Settings that hints name. */
export type Settings = Pick<WorkspaceConfig, 'quietMs' | 'refreshOn' | 'rereadHorizonMs' | 'rereadShare'>

interface DifferenceContext extends Pick<WorkspaceReconciliation, 'coverage' | 'rereads' | 'gaps'> {
  /** Undefined for a workspace that is in the warehouse but not configured. */
  settings: Settings | undefined
}

type Described = DifferenceContext & Pick<Difference, 'sessions'>
type Describe = (n: number, context: Described) => Pick<DescribedDifference, 'what' | 'hint'>

const EXPORT_INCOMPLETE =
  'convohouse query "SELECT agent_id, conversation_id FROM conversations WHERE NOT _complete AND _missing_since IS NULL AND _not_exportable_since IS NULL" --format csv | tail -n +2 | convohouse sync --ids -'

function rereadText({ settings, rereads: { count: ranges, sessions, firstMs } }: DifferenceContext): string {
  if (settings === undefined)
    return 'Nothing is read again from this folder alone (a copy or a demo): no configuration names the workspace.'
  if (settings.rereadShare === 0) return 'Nothing is read again, since `rereadShare` is 0.'
  const horizon = `the last ${durationText(settings.rereadHorizonMs)} (\`rereadHorizon\`)`
  if (ranges === 0)
    return `Nothing is read again: syncs do so within ${horizon}, where ranges skipped enough of their conversations.`
  const budget = `${settings.rereadShare * 100} % of the quota a period (\`rereadShare\`)`
  return `Syncs read ${counted(ranges, 'range')} of ${horizon} again, the first from ${utc(firstMs).slice(0, 16)} UTC on. This bills up to ${counted(sessions, 'session')} each time, within ${budget}; nothing older is read again.`
}

const skipped: Describe = (n, context) => ({
  what: `${counted(n, 'conversation')} ${agreeing(n, 'was', 'were')} scanned and not returned, since no person had written in ${agreeing(n, 'it', 'them')}: skipped, not billed.`,
  hint: rereadText(context),
})

const quarantined: Describe = n => ({
  what: `${counted(n, 'record')} ${agreeing(n, 'was', 'were')} returned and could not be loaded; the landing keeps ${agreeing(n, 'it', 'them')}.`,
  hint: 'Nothing is read again. `convohouse quarantine list` says why; `convohouse quarantine retry` tries to load them, which bills nothing.',
})

const pricedText = (sessions: number | null): string => `which bills about ${counted(sessions ?? 0, 'session')}`

const incomplete: Describe = (n, { sessions }) => ({
  what: `${counted(n, 'row is', 'rows are')} incomplete: only events have reported ${agreeing(n, 'it', 'them')}.`,
  hint: `Once quiet for an hour, after six hours at most, \`convohouse sync\` exports the full records, ${pricedText(sessions)}. To have them now: ${EXPORT_INCOMPLETE}`,
})

const quietText = (settings: Settings | undefined): string =>
  `After ${settings ? durationText(settings.quietMs) : 'some time'} without a change, \`convohouse sync\` exports`

function refreshText(n: number, { settings, sessions }: Described): string {
  const after = quietText(settings)
  if (settings?.refreshOn === 'auto')
    return `${after} ${agreeing(n, 'it', 'them')} again, except where an event reported the change without a new message and such refreshes have found nothing (\`convohouse status\`).`
  if (settings?.refreshOn !== 'message') return `${after} ${agreeing(n, 'it', 'them')} again, ${pricedText(sessions)}.`
  return `${after} those with a new message again, and those whose change no event reported; with \`refreshOn: change\`, it exports all of them again.`
}

const stale: Describe = (n, context) => ({
  what: `${counted(n, 'row')} ${agreeing(n, 'has', 'have')} changed since ${agreeing(n, 'it was', 'they were')} exported.`,
  hint: refreshText(n, context),
})

const missing: Describe = n => ({
  what: `${counted(n, 'row')} ${agreeing(n, 'was', 'were')} requested again and not returned: the vendor no longer has ${agreeing(n, 'it', 'them')}.`,
  hint: 'Nothing to do: stored rows are kept.',
})

const notExportable: Describe = n => ({
  what: `${counted(n, 'row')} ${agreeing(n, 'was', 'were')} requested by id, scanned and not returned: no person has written in ${agreeing(n, 'it', 'them')}.`,
  hint: `Nothing to do: ${agreeing(n, 'it is', 'they are')} requested again when an event reports a change.`,
})

/** Maximum number of named items; the others are counted. */
const MAX_NAMED = 5

function listed(texts: readonly string[]): string {
  const more = texts.length - MAX_NAMED
  return `${texts.slice(0, MAX_NAMED).join('; ')}${more > 0 ? `; and ${count(more)} more` : ''}`
}

const spanText = ({ agentId, from, to }: Uncovered): string =>
  `${agentId} ${from === null ? 'from the beginning' : from.slice(0, 10)} to ${to.slice(0, 10)}`

const unreadable: Describe = (n, { gaps }) => ({
  what: `${counted(n, 'range')} cannot be read: ${listed(gaps.map(gapText))}.`,
  hint: 'Syncs request each range again at the time shown, within 1 % of the quota a period.',
})

const unverified: Describe = (n, { settings, sessions }) => ({
  what: `${counted(n, 'range')} ${agreeing(n, 'is', 'are')} not verified: conversations left while the pages around ${agreeing(n, 'it', 'them')} were read, so the vendor may have passed over others.`,
  hint: settings?.rereadShare
    ? `The next syncs read ${agreeing(n, 'it', 'them')} again once, ${pricedText(sessions)}, within ${settings.rereadShare * 100} % of the quota a period (\`rereadShare\`).`
    : 'Nothing is read again, since `rereadShare` is 0 or the workspace is not configured.',
})

const uncovered: Describe = (n, { coverage: { uncovered: spans } }) => {
  const days = spans.reduce((sum, span) => sum + (span.days ?? 0), 0)
  const endless = spans.some(span => span.days === null) ? ' and all earlier time' : ''
  return {
    what: `${counted(n, 'span')} of time not covered (${counted(days, 'day')}${endless}): ${listed(spans.map(spanText))}.`,
    hint: '`convohouse sync` reads the part within the configured range; `convohouse plan` estimates the cost as far as it can be known.',
  }
}

const unread: Describe = (n, { coverage: { unread: agents } }) => ({
  what: `${counted(n, 'agent')} ${agreeing(n, 'has', 'have')} not been read, or ${agreeing(n, 'has', 'have')} an unfinished window: ${listed(agents)}.`,
  hint: '`convohouse sync` reads them as far as the quota allows; `convohouse plan` shows what is left to read.',
})

const DESCRIBED: Record<Difference['kind'], Describe> = {
  skipped,
  quarantined,
  incomplete,
  stale,
  missing,
  notExportable,
  unreadable,
  unverified,
  uncovered,
  unread,
}

export const describeDifference = (
  { kind, count, sessions }: Difference,
  context: DifferenceContext,
): DescribedDifference => ({ kind, count, ...DESCRIBED[kind](count, { ...context, sessions }), sessions })
