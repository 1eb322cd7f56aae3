// The truth of a vendor, written from the API document (sections 4.12, 4.16, 8) and the notes: agents, conversations with their
// sessions, the mirror, the hour, the quota and what it has billed. It answers as documented; behaviours.ts spoils its answers.
import { DAY, HOUR } from '../../src/core/time.ts'

export interface Conversation {
  id: string
  agentId: string
  createdMs: number
  /** Start times of the sessions, ascending. Each has human messages and bills from then on; the first is at `humanMs` or later. */
  sessionsMs: readonly number[]
  /** Time when a person first wrote; infinite if never. Before that, the conversation is skipped. */
  humanMs: number
  /** Time when it enters the mirror that the export reads. */
  mirroredMs: number
  /** Time when the vendor deletes it; infinite if never. */
  goneMs: number
}

export interface VendorOptions {
  startMs: number
  agents: readonly { id: string; title: string }[]
  conversations: readonly Conversation[]
  includedSessions: number
  requestsPerHour: number
  /** Length of a billing period, and the time before `startMs` at which the current one began. */
  periodDays: number
  periodAgeDays: number
  /** The meaning of `ts`, and its unit in records and comparisons: the document leaves both open. */
  ts: 'created' | 'activity'
  unit: 'ms' | 's'
  /** Sessions of the first period that other users of the workspace have spent. */
  usedElsewhere: number
}

export interface ExportQuery {
  sort: 'asc' | 'desc'
  fromMs: number
  toMs: number
  limit: number
  cursor: string | null
  /** Requested ids; null for paginated mode. */
  ids: readonly string[] | null
}

/** The conversations of one answer, as the vendor selected them. */
export interface ModelPage {
  records: Conversation[]
  /** Includes the skipped ones. */
  scanned: number
  hasMore: boolean
  nextCursor: string | null
}

export interface Bill {
  atMs: number
  agentId: string
  sessions: number
  periodKey: string
}

const sessionsBy = ({ sessionsMs }: Conversation, atMs: number): number =>
  sessionsMs.reduce((count, begunMs) => (begunMs <= atMs ? count + 1 : count), 0)

/** Returns the sessions that an export of the conversation bills at that time. */
export const billOf = (conversation: Conversation, atMs: number): number => Math.max(1, sessionsBy(conversation, atMs))

/** Returns the same version for equal content of the record. */
export const versionOf = sessionsBy

export const lastActivityMs = (conversation: Conversation, atMs: number): number =>
  conversation.sessionsMs.findLast(begunMs => begunMs <= atMs) ?? conversation.createdMs

/** Converts to ms by magnitude: times below 1e11 are seconds. */
const inMs = (time: number): number => (time < 1e11 ? time * 1_000 : time)

export class VendorModel {
  readonly options: VendorOptions
  readonly bills: Bill[] = []
  /** Times of the counted requests. */
  counted: number[] = []
  exportRequests = 0
  private readonly billedIn = new Map<string, number>()
  private readonly byAgent = new Map<string, Conversation[]>()

  constructor(options: VendorOptions) {
    this.options = options
    for (const { id } of options.agents) this.byAgent.set(id, [])
    for (const conversation of options.conversations) this.byAgent.get(conversation.agentId)?.push(conversation)
  }

  hasAgent(agentId: string): boolean {
    return this.byAgent.has(agentId)
  }

  /** Returns the `ts` of a conversation, ms. */
  tsMs(conversation: Conversation, atMs: number): number {
    return this.options.ts === 'created' ? conversation.createdMs : lastActivityMs(conversation, atMs)
  }

  /** Returns the conversations in the mirror, including skipped ones. */
  mirrored(agentId: string, atMs: number): Conversation[] {
    return (this.byAgent.get(agentId) ?? []).filter(({ mirroredMs, goneMs }) => mirroredMs <= atMs && atMs < goneMs)
  }

  /** Deletes a conversation. */
  remove(agentId: string, id: string, atMs: number): void {
    const conversation = this.byAgent.get(agentId)?.find(one => one.id === id)
    if (conversation) conversation.goneMs = Math.min(conversation.goneMs, atMs)
  }

  /** Selects a page as documented. `atMs`: state of the mirror. `shift`: conversations by which each page but the first is off. */
  select(agentId: string, query: ExportQuery, atMs: number, shift = 0): ModelPage {
    const scanned = query.ids ? this.byIds(agentId, query.ids, atMs) : this.inRange(agentId, query, atMs)
    const position = query.ids ? 0 : this.positionOf(scanned, query, atMs)
    const from = query.cursor === null ? position : Math.max(0, position + shift)
    const page = query.ids ? scanned : scanned.slice(from, from + query.limit)
    const hasMore = !query.ids && from + query.limit < scanned.length
    const last = page.at(-1)
    return {
      records: page.filter(({ humanMs }) => humanMs <= atMs),
      scanned: page.length,
      hasMore,
      nextCursor: hasMore && last ? `k.${this.tsMs(last, atMs)}.${last.id}` : null,
    }
  }

  /** Returns the record of a conversation (section 2.10), as small as possible. */
  record(conversation: Conversation, atMs: number): Record<string, unknown> {
    const time = (ms: number) => (this.options.unit === 's' ? Math.floor(ms / 1_000) : ms)
    const lastMs = lastActivityMs(conversation, atMs)
    return {
      ID: conversation.id,
      ts: time(this.tsMs(conversation, atMs)),
      firstMessageTS: time(conversation.createdMs),
      lastMessageTS: time(lastMs),
      lastModified: time(lastMs),
      sessionsNum: billOf(conversation, atMs),
    }
  }

  period(atMs: number): { key: string; sinceMs: number } {
    const { startMs, periodDays, periodAgeDays } = this.options
    const length = periodDays * DAY
    const firstMs = startMs - periodAgeDays * DAY
    const number = Math.floor((atMs - firstMs) / length)
    return { key: `period-${number}`, sinceMs: firstMs + number * length }
  }

  used(atMs: number): number {
    const { key } = this.period(atMs)
    return (this.billedIn.get(key) ?? 0) + (key === 'period-0' ? this.options.usedElsewhere : 0)
  }

  bill(agentId: string, sessions: number, atMs: number): void {
    const periodKey = this.period(atMs).key
    if (sessions > 0) this.bills.push({ atMs, agentId, sessions, periodKey })
    this.billedIn.set(periodKey, (this.billedIn.get(periodKey) ?? 0) + sessions)
  }

  usage(billed: number, atMs: number): Record<string, unknown> {
    const { includedSessions } = this.options
    const used = this.used(atMs)
    const overage = Math.max(0, used - includedSessions)
    return {
      periodKey: this.period(atMs).key,
      billableUsedThisRequest: billed,
      billableUsedThisPeriod: used,
      includedQuota: includedSessions,
      billableRemainingThisPeriod: Math.max(0, includedSessions - used),
      overageUsedThisPeriod: overage,
      overagePacksCharged: Math.ceil(overage / 1_000),
      exportRequestCount: this.exportRequests,
    }
  }

  /** Returns the requests left in the rolling hour. */
  remainingHour(atMs: number): number {
    this.counted = this.counted.filter(countedMs => countedMs > atMs - HOUR)
    return this.options.requestsPerHour - this.counted.length
  }

  count(atMs: number): void {
    this.counted.push(atMs)
    this.exportRequests += 1
  }

  private byIds(agentId: string, ids: readonly string[], atMs: number): Conversation[] {
    const wanted = new Set(ids)
    return this.mirrored(agentId, atMs).filter(({ id }) => wanted.has(id))
  }

  private inRange(agentId: string, { sort, fromMs, toMs }: ExportQuery, atMs: number): Conversation[] {
    const { unit } = this.options
    const whole = (ms: number) => (unit === 's' ? Math.floor(ms / 1_000) : ms)
    const [from, to, sign] = [whole(fromMs), whole(toMs), sort === 'asc' ? 1 : -1]
    const found: { conversation: Conversation; ts: number }[] = []
    for (const conversation of this.byAgent.get(agentId) ?? []) {
      if (conversation.mirroredMs > atMs || conversation.goneMs <= atMs) continue
      const ts = this.tsMs(conversation, atMs)
      if (whole(ts) >= from && whole(ts) <= to) found.push({ conversation, ts })
    }
    found.sort((a, b) => sign * (a.ts - b.ts || (a.conversation.id < b.conversation.id ? -1 : 1)))
    return found.map(({ conversation }) => conversation)
  }

  /**
   * Returns the start of the page after the cursor. `k.TS.ID` names the last conversation of the previous page, `o.N`
   * is an offset. The part after a `~` only makes the cursor unique.
   */
  private positionOf(sorted: readonly Conversation[], { cursor, sort }: ExportQuery, atMs: number): number {
    const [kind, ts, ...id] = (cursor ?? '').split('~')[0]!.split('.')
    if (kind === 'o') return Number(ts)
    if (kind !== 'k') return 0
    const sign = sort === 'asc' ? 1 : -1
    const place = sorted.findIndex(one => {
      const apart = sign * (this.tsMs(one, atMs) - Number(ts))
      return apart > 0 || (apart === 0 && sign * (one.id < id.join('.') ? -1 : one.id > id.join('.') ? 1 : 0) > 0)
    })
    return place < 0 ? sorted.length : place
  }
}

/** Reads the query of an export (section 4.12). */
export function exportQuery(parameters: URLSearchParams): ExportQuery {
  const time = (name: string, otherwise: number) => {
    const given = parameters.get(name)
    return given === null ? otherwise : inMs(Number(given))
  }
  const ids = parameters.get('convoIds')
  return {
    sort: parameters.get('sort') === 'asc' ? 'asc' : 'desc',
    fromMs: time('fromTs', 0),
    toMs: time('toTs', Number.MAX_SAFE_INTEGER),
    limit: Math.min(100, Math.max(1, Number(parameters.get('limit') ?? 20))),
    cursor: parameters.get('cursor'),
    ids: ids === null ? null : ids.split(',').filter(id => id !== ''),
  }
}
