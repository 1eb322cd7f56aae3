// Every difference that the ledger names: what it is, what would mend it, and about what that would cost.
import type { WorkspaceConfig } from '../../config.ts'
import { durationText } from '../../core/time.ts'
import { count, counted } from '../../core/words.ts'
import type { Counts, Price } from './counts.ts'
import type { Reading, Uncovered } from './uncovered.ts'

export const DIFFERENCES = [
  'skipped',
  'quarantined',
  'incomplete',
  'stale',
  'missing',
  'notExportable',
  'uncovered',
  'unread',
] as const

export interface Difference {
  kind: (typeof DIFFERENCES)[number]
  count: number
  what: string
  hint: string
  /** About what mending would bill; null where nothing can be said, as nothing of it has been seen. */
  sessions: number | null
}

export type Settings = Pick<WorkspaceConfig, 'quietMs' | 'refreshOn' | 'rereadHorizonMs' | 'rereadShare'>

export interface Found {
  totals: Counts
  price: Price
  reading: Reading
  /** Undefined for a workspace that is in the warehouse and not configured. */
  settings: Settings | undefined
}

type Describe = (found: Found) => Omit<Difference, 'kind'>

/** `is` or `are`, `was` or `were`. */
const verb = (n: number, one: string, many: string): string => (n === 1 ? one : many)

const BUY_INCOMPLETE =
  'convohouse query "SELECT agent_id, conversation_id FROM conversations WHERE NOT _complete AND _missing_since IS NULL AND _not_exportable_since IS NULL" --format csv | tail -n +2 | convohouse sync --ids -'

function lookingAgain(settings: Settings | undefined): string {
  if (settings?.rereadShare === 0) return 'A `rereadShare` above 0 in the configuration has a sync look again'
  const within = settings ? `the last ${durationText(settings.rereadHorizonMs)}` : 'its horizon'
  return `\`convohouse sync\` looks again at those of ${within} by itself, and a longer \`rereadHorizon\` at older ones`
}

const skipped: Describe = ({ totals: { skipped: n }, price, settings }) => ({
  count: n,
  what: `${counted(n, 'conversation')} ${verb(n, 'was', 'were')} looked at and not given, as no person had written in ${verb(n, 'it', 'them')}: skipped, and not billed.`,
  hint: `${lookingAgain(settings)}. The other conversations of a window that is read again are billed again.`,
  sessions: price.hiddenBehind,
})

const quarantined: Describe = ({ totals: { quarantined: n } }) => ({
  count: n,
  what: `${counted(n, 'record')} ${verb(n, 'was', 'were')} given and could not be loaded; the landing keeps ${verb(n, 'it', 'them')}.`,
  hint: '`convohouse quarantine list` says why; `convohouse quarantine retry` loads what can be loaded by then.',
  sessions: 0,
})

const incomplete: Describe = ({ totals: { incomplete: n }, price }) => ({
  count: n,
  what: `${counted(n, 'row is', 'rows are')} incomplete: only events have told of ${verb(n, 'it', 'them')}.`,
  hint: `Buy the full records: ${BUY_INCOMPLETE}`,
  sessions: Math.ceil(n * price.perConversation),
})

function boughtAgain(n: number, settings: Settings | undefined): string {
  const after = `after ${settings ? durationText(settings.quietMs) : 'a time'} of quiet`
  if (settings?.refreshOn !== 'message') return `\`convohouse sync\` buys ${verb(n, 'it', 'them')} again ${after}.`
  return `\`convohouse sync\` buys again ${after} where something was written since, or no event told the change; \`refreshOn: change\` has it buy all.`
}

const stale: Describe = ({ totals: { knownStale: n }, price, settings }) => ({
  count: n,
  what: `${counted(n, 'row')} ${verb(n, 'has', 'have')} changed since ${verb(n, 'it was', 'they were')} exported.`,
  hint: boughtAgain(n, settings),
  sessions: Math.ceil(n * price.perConversation),
})

const missing: Describe = ({ totals: { missing: n } }) => ({
  count: n,
  what: `${counted(n, 'row')} ${verb(n, 'was', 'were')} asked for again and not there: the vendor has ${verb(n, 'it', 'them')} no more.`,
  hint: 'Nothing is to be done: what is held stays.',
  sessions: 0,
})

const notExportable: Describe = ({ totals: { notExportable: n } }) => ({
  count: n,
  what: `${counted(n, 'row')} ${verb(n, 'was', 'were')} asked for by id, looked at and not given: no person has written in ${verb(n, 'it', 'them')}.`,
  hint: `Nothing is to be done: ${verb(n, 'it is', 'they are')} asked for again when an event tells of a change.`,
  sessions: 0,
})

/** So many are named; the rest is counted. */
const NAMED = 5

function listed(texts: readonly string[]): string {
  const more = texts.length - NAMED
  return `${texts.slice(0, NAMED).join('; ')}${more > 0 ? `; and ${count(more)} more` : ''}`
}

const stretchText = ({ agentId, from, to }: Uncovered): string =>
  `${agentId} ${from === null ? 'from the beginning' : from.slice(0, 10)} to ${to.slice(0, 10)}`

const uncovered: Describe = ({ reading: { uncovered: stretches } }) => {
  const days = stretches.reduce((sum, stretch) => sum + (stretch.days ?? 0), 0)
  const endless = stretches.some(stretch => stretch.days === null) ? ' and all that was before' : ''
  return {
    count: stretches.length,
    what: `${counted(stretches.length, 'stretch', 'stretches')} of time not covered (${counted(days, 'day')}${endless}): ${listed(stretches.map(stretchText))}.`,
    hint: '`convohouse sync` reads what is wanted of them; `convohouse plan` prices it as far as that can be known.',
    sessions: null,
  }
}

const unread: Describe = ({ reading: { unread: agents } }) => ({
  count: agents.length,
  what: `${counted(agents.length, 'agent')} not read yet, or not to the end of a window: ${listed(agents)}.`,
  hint: '`convohouse sync` reads them, as far as the quota lets it; `convohouse plan` shows what is left to read.',
  sessions: null,
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

/** Those that there are. */
export const differencesOf = (found: Found): Difference[] =>
  DIFFERENCES.map(kind => ({ kind, ...DESCRIBED[kind](found) })).filter(difference => difference.count > 0)
