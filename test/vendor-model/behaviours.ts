// Makes a vendor misbehave: each behaviour changes answers of one agent or of the account, for some time or for good,
// always, sometimes or a few times. Behaviours are plain data, like histories, and can be combined.
import { DAY } from '../../src/core/time.ts'
import type { Conversation, ExportQuery, ModelPage, VendorModel } from './vendor-model.ts'

export interface Behaviour {
  kind: BehaviourKind
  /** Agent whose answers change; default: the whole account. */
  agentId?: string
  /** Time since the history's start, ms; default: from the start, and for good. */
  fromMs?: number
  untilMs?: number
  /** Number of answers that it changes; default: all. */
  times?: number
  /** Share of the answers that it changes; default: all. */
  share?: number
  /** Changes only pages that contain one of these conversations. */
  records?: readonly string[]
  /** A number or a word whose meaning depends on the kind. */
  value?: number
  word?: string
}

/** An answer under construction. */
export interface Draft {
  agentId: string
  asked: ExportQuery
  /** The query as the vendor understands it. */
  query: ExportQuery
  /** Path and query, as sent. */
  address: string
  atMs: number
  /** Time of the state that the mirror shows. */
  viewMs: number
  shift: number
  page: ModelPage
  status: number
  /** True if the request is billed although the answer is an error or never arrives. */
  bills: boolean
  body: Record<string, unknown>
  /** Text that replaces the body. */
  text: string | null
  dateMs: number | null
  retryAfter: string | null
  /** `reset` and `timeout`: no answer arrives. `cut`: half of one. `unsent`: no connection. */
  fate: 'answered' | 'timeout' | 'reset' | 'cut' | 'unsent'
}

/** State that a behaviour keeps between answers. */
export interface Memory {
  /** Number of changed answers. */
  shown: number
  number: number
  pages: Map<string, ModelPage>
  texts: Map<string, Draft>
  usage: Record<string, unknown> | null
  usages: Record<string, unknown>[]
}

type Change = (draft: Draft, given: { behaviour: Behaviour; memory: Memory; vendor: VendorModel }) => boolean

/** Stages of an answer; each returns true if it changed it: before the vendor reads the query, selects, bills, answers. */
interface Effect {
  before?: Change
  select?: Change
  page?: Change
  answer?: Change
}

/** Returns a new cursor that continues at the same place. */
const fresh = (cursor: string | null, memory: Memory): string =>
  `${(cursor ?? 'start').split('~')[0]}~${++memory.number}`

const place = ({ agentId, asked: { sort, fromMs, toMs } }: Draft): string => `${agentId} ${sort} ${fromMs} ${toMs}`

const nothingOn = (draft: Draft, page: Partial<ModelPage>): true => {
  draft.page = { records: [], scanned: 0, hasMore: true, nextCursor: null, ...page }
  return true
}

const usageOf = ({ body }: Draft): Record<string, unknown> => (body.usage ?? {}) as Record<string, unknown>

const changeUsage = (draft: Draft, changed: Record<string, unknown>): true => {
  draft.body.usage = { ...usageOf(draft), ...changed }
  return true
}

const fail = (draft: Draft, status: number, bills = false): true => {
  draft.status = status
  draft.bills = bills
  return true
}

/** Assigns the changes and returns true. */
const set = <T extends object>(target: T, changes: Partial<T>): true => {
  Object.assign(target, changes)
  return true
}

const isPaged = ({ asked }: Draft): boolean => asked.ids === null

const recordsOf = ({ body }: Draft): Record<string, unknown>[] => (body.data ?? []) as Record<string, unknown>[]

const changeRecords = (draft: Draft, change: (record: Record<string, unknown>) => Record<string, unknown>): boolean => {
  draft.body.data = recordsOf(draft).map(change)
  return recordsOf(draft).length > 0
}

const UNREADABLE: Record<string, (body: Record<string, unknown>) => string> = {
  'data-null': body => JSON.stringify({ ...body, data: null }),
  'success-false': body => JSON.stringify({ ...body, success: false }),
  'not-json': () => '<html><body>502</body></html>',
  half: body => JSON.stringify(body).slice(0, -40),
}

const EFFECTS = {
  // Cursors
  'cursor-repeats': {
    page: ({ page, asked }) => page.hasMore && asked.cursor !== null && set(page, { nextCursor: asked.cursor }),
  },
  'cursor-ignored': {
    select: draft => isPaged(draft) && set(draft.query, { cursor: null }),
    page: ({ page, asked }, { memory }) => page.hasMore && set(page, { nextCursor: fresh(asked.cursor, memory) }),
  },
  'cursor-is-offset': {
    page: ({ page, query }) => {
      if (!page.hasMore) return false
      const at = query.cursor?.startsWith('o.') ? Number(query.cursor.slice(2)) : 0
      page.nextCursor = `o.${at + query.limit}`
      return true
    },
  },
  'cursor-refused': { before: draft => draft.asked.cursor !== null && fail(draft, 400) },
  // Parameters
  'range-ignored': {
    select: draft => isPaged(draft) && set(draft.query, { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }),
  },
  'sort-ignored': {
    select: draft => isPaged(draft) && set(draft.query, { sort: draft.asked.sort === 'asc' ? 'desc' : 'asc' }),
  },
  /** `value`: the page size that it uses. */
  'limit-ignored': {
    select: (draft, { behaviour: { value = 20 } }) => isPaged(draft) && set(draft.query, { limit: value }),
  },
  // Pages
  'last-page-repeats': {
    page(draft, { memory }) {
      if (!isPaged(draft)) return false
      const repeats = draft.query.cursor?.startsWith('again~') ? memory.pages.get(place(draft)) : undefined
      if (!repeats && (draft.page.hasMore || draft.page.records.length === 0)) return false
      const page = { ...(repeats ?? draft.page), hasMore: true, nextCursor: fresh('again', memory) }
      memory.pages.set(place(draft), page)
      draft.page = page
      return true
    },
  },
  'page-repeats': {
    page(draft, { memory }) {
      const before = memory.pages.get(place(draft))
      memory.pages.set(place(draft), draft.page)
      if (!before || draft.asked.cursor === null) return false
      return nothingOn(draft, { ...before, hasMore: true, nextCursor: fresh(draft.asked.cursor, memory) })
    },
  },
  /** `value`: number of conversations by which pages shift; negative if pages overlap. */
  'page-shifted': {
    select: (draft, { behaviour: { value = 1 } }) => draft.asked.cursor !== null && set(draft, { shift: value }),
  },
  'page-empty': {
    page: (draft, { memory }) => isPaged(draft) && nothingOn(draft, { nextCursor: fresh(draft.asked.cursor, memory) }),
  },
  'skips-without-end': {
    page: (draft, { memory }) =>
      isPaged(draft) && nothingOn(draft, { scanned: draft.asked.limit, nextCursor: fresh(draft.asked.cursor, memory) }),
  },
  /** `value`: number of conversations of earlier pages that are deleted when the next page is requested. */
  'records-leave': {
    select: (draft, { behaviour: { value = 3 }, vendor }) => {
      if (draft.asked.cursor === null) return false
      const { records } = vendor.select(draft.agentId, { ...draft.asked, cursor: null }, draft.viewMs)
      for (const { id } of records.slice(0, value)) vendor.remove(draft.agentId, id, draft.atMs)
      return records.length > 0
    },
  },
  'says-last': {
    page: ({ page }) => page.hasMore && set(page, { hasMore: false, nextCursor: null }),
  },
  /** The mirror shows the state at the time when this began. */
  'mirror-stalls': {
    select: (draft, { behaviour: { fromMs = 0 }, vendor }) =>
      set(draft, { viewMs: Math.min(draft.viewMs, vendor.options.startMs + fromMs) }),
  },
  'mirror-empty': { page: draft => nothingOn(draft, { hasMore: false }) },
  // Failures
  /** `value`: the status. With 1 as `word`, the answer is billed anyway. */
  fails: {
    page: (draft, { behaviour: { value = 500, word } }) => fail(draft, value, word === 'billed'),
  },
  /** `value`: page size above which pages are not answered in time. They are billed. */
  slow: {
    page: (draft, { behaviour: { value = 0 } }) => {
      if (draft.asked.limit <= value || !isPaged(draft)) return false
      draft.fate = 'timeout'
      return true
    },
  },
  lost: { answer: draft => set(draft, { fate: 'reset' }) },
  cut: { answer: draft => set(draft, { fate: 'cut' }) },
  unreachable: { before: draft => set(draft, { fate: 'unsent' }) },
  /** `value`: the status. */
  refused: { before: (draft, { behaviour: { value = 403 } }) => fail(draft, value) },
  /** `word`: `Retry-After`. */
  limited: {
    before: (draft, { behaviour: { word } }) => {
      draft.retryAfter = word ?? null
      return fail(draft, 429)
    },
  },
  /** `word`: the kind of damage. */
  unreadable: {
    answer: (draft, { behaviour: { word = 'data-null' } }) => {
      if (recordsOf(draft).length === 0) return false
      draft.text = UNREADABLE[word]!(draft.body)
      return true
    },
  },
  /** A cache answers a request whose address it knows: the vendor neither counts nor bills it. */
  cached: {
    before: (draft, { memory }) => {
      const known = memory.texts.get(draft.address)
      return known !== undefined && set(draft, { ...known, atMs: draft.atMs })
    },
    answer: (draft, { memory }) => {
      memory.texts.set(draft.address, { ...draft, bills: false })
      return false
    },
  },
  /** `value`: the status with which cursors are refused. */
  'cursor-status': {
    before: (draft, { behaviour: { value = 404 } }) => draft.asked.cursor !== null && fail(draft, value),
  },
  'cursor-leads-nowhere': { page: draft => draft.asked.cursor !== null && nothingOn(draft, { hasMore: false }) },
  /** Pages have at most 20 conversations, and each states that it is the last one and that the limit was 20. */
  'limit-clamped': {
    select: draft => isPaged(draft) && set(draft.query, { limit: Math.min(20, draft.query.limit) }),
    page: ({ page }) => page.hasMore && set(page, { hasMore: false, nextCursor: null }),
    answer: draft => {
      draft.body.limit = 20
      return false
    },
  },
  'ids-limited': {
    select: draft => draft.asked.ids !== null && set(draft.query, { ids: draft.asked.ids.slice(0, 20) }),
  },
  /** `value`: the status of a request with an id that no conversation has. */
  'unknown-ids-refused': {
    before: (draft, { behaviour: { value = 404 }, vendor }) => {
      const known = new Set(vendor.mirrored(draft.agentId, draft.viewMs).map(({ id }) => id))
      return (draft.asked.ids ?? []).some(id => !known.has(id)) && fail(draft, value)
    },
  },
  /** The answer names another end of the range than was requested, and is the last one. */
  'another-query': {
    page: draft => isPaged(draft) && set(draft.page, { hasMore: false, nextCursor: null }),
    answer: ({ body, asked }) => {
      body.query = { toTs: asked.toMs - DAY }
      return true
    },
  },
  // Usage
  'usage-object-frozen': {
    answer: (draft, { memory }) => {
      memory.usage ??= { ...usageOf(draft) }
      return changeUsage(draft, memory.usage)
    },
  },
  /** `value`: number of answers by which the usage is late. */
  'usage-late': {
    answer: (draft, { behaviour: { value = 5 }, memory }) => {
      memory.usages.push(usageOf(draft))
      const { billableUsedThisRequest } = usageOf(draft)
      return changeUsage(draft, { ...memory.usages.at(-1 - value), billableUsedThisRequest })
    },
  },
  /** `word`: `absent` or `daily`. */
  'period-key': {
    answer: (draft, { behaviour: { word } }) =>
      changeUsage(draft, { periodKey: word === 'daily' ? new Date(draft.atMs).toISOString().slice(0, 10) : undefined }),
  },
  'usage-absent': { answer: ({ body }) => delete body.usage },
  /** Repeats the first usage that it has seen. */
  'usage-frozen': {
    answer: (draft, { memory }) => {
      memory.usage ??= usageOf(draft)
      return changeUsage(draft, { ...memory.usage, billableUsedThisRequest: usageOf(draft).billableUsedThisRequest })
    },
  },
  /** Names another period. `value`: its usage; `word`: its key; default: that of last month. */
  'usage-of-another-period': {
    answer: (draft, { behaviour: { value = 0, word = 'period--1' }, vendor }) => {
      const left = vendor.options.includedSessions - value
      const usage = { periodKey: word, billableUsedThisPeriod: value, billableRemainingThisPeriod: left }
      return changeUsage(draft, { ...usage, overageUsedThisPeriod: 0, overagePacksCharged: 0 })
    },
  },
  'usage-exhausted': {
    answer: (draft, { vendor }) =>
      changeUsage(draft, {
        billableUsedThisPeriod: vendor.options.includedSessions,
        billableRemainingThisPeriod: 0,
      }),
  },
  /** Reports no sessions left and packs charged, without the quota. `value`: the usage that it reports. */
  'usage-contradicts': {
    answer: (draft, { behaviour: { value = 3_000 } }) => {
      const { includedQuota: _, ...others } = usageOf(draft)
      const nothingLeft = { billableRemainingThisPeriod: 0, overagePacksCharged: 3 }
      draft.body.usage = { ...others, ...nothingLeft, billableUsedThisPeriod: value }
      return true
    },
  },
  'rate-limit-absent': { answer: ({ body }) => delete body.rateLimit },
  // Times
  /** `value`: ms by which `Date` is ahead; without it, answers have no `Date`. */
  date: {
    answer: (draft, { behaviour: { value } }) => {
      draft.dateMs = value === undefined ? null : draft.atMs + value
      return true
    },
  },
  /** `value`: ms by which every `ts` is ahead; without it, records have no `ts`. */
  'record-times': {
    answer: (draft, { behaviour: { value }, vendor: { options } }) =>
      changeRecords(draft, ({ ts, ...record }) =>
        value === undefined ? record : { ...record, ts: Number(ts) + (options.unit === 's' ? value / 1_000 : value) },
      ),
  },
  // Ids of conversations. `word`: `missing`, `number`, `doubled`, `foreign`
  ids: {
    answer: (draft, { behaviour: { word = 'missing' } }) => {
      const [first] = recordsOf(draft)
      if (!first) return false
      if (word === 'doubled') draft.body.data = [...recordsOf(draft), { ...first }]
      if (word === 'foreign') draft.body.data = [...recordsOf(draft), { ...first, ID: 'foreign' }]
      if (word === 'missing') draft.body.data = [{ ...first, ID: undefined }, ...recordsOf(draft).slice(1)]
      if (word === 'number') draft.body.data = [{ ...first, ID: 4_711 }, ...recordsOf(draft).slice(1)]
      return true
    },
  },
  // The list of agents. `value`: how many are listed
  'agents-short': {},
  /** Lists every agent twice. */
  'agents-doubled': {},
  /** Omits `total` and `hasMore`, and returns the first page no matter which page is requested. */
  'agents-unpaged': {},
} satisfies Record<string, Effect>

export type BehaviourKind = keyof typeof EFFECTS

export const newMemory = (): Memory => ({
  shown: 0,
  number: 0,
  pages: new Map(),
  texts: new Map(),
  usage: null,
  usages: [],
})

/** True if the behaviour may change an answer at that time. */
export const isActive = (behaviour: Behaviour, sinceStartMs: number, { shown }: Pick<Memory, 'shown'>): boolean =>
  sinceStartMs >= (behaviour.fromMs ?? 0) &&
  sinceStartMs < (behaviour.untilMs ?? Number.POSITIVE_INFINITY) &&
  shown < (behaviour.times ?? Number.POSITIVE_INFINITY)

const holdsRecord = ({ records }: Behaviour, page: readonly Conversation[]): boolean =>
  records === undefined || page.some(({ id }) => records.includes(id))

/** Applies one stage of a behaviour to an answer; true if it changed the answer. */
export function spoil(
  stage: keyof Effect,
  draft: Draft,
  given: { behaviour: Behaviour; memory: Memory; vendor: VendorModel },
): boolean {
  const { behaviour } = given
  if (behaviour.agentId !== undefined && behaviour.agentId !== draft.agentId) return false
  const isPageKnown = stage === 'page' || stage === 'answer'
  if (isPageKnown && !holdsRecord(behaviour, draft.page.records)) return false
  const effect: Effect = EFFECTS[behaviour.kind]
  return effect[stage]?.(draft, given) ?? false
}
