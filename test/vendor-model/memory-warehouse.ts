// The loaded pages of a history, folded as loading folds them: windows, coverage, requests, reported usage, agents and
// conversations. It replaces the warehouse in histories without DuckDB.
import type { ErrorCode } from '../../src/core/errors.ts'
import { type Coverage, coverAll } from '../../src/core/planning/coverage.ts'
import { type CertainTime, type ClockReading, withoutUnpassedTime } from '../../src/core/planning/unpassed-time.ts'
import { unansweredOf } from '../../src/core/planning/window-ids.ts'
import { advance, coveredBy, type PageRange, pageRangeOf, reachingTo } from '../../src/core/planning/window-progress.ts'
import { isById, newProgress, type WindowKind, type WindowProgress } from '../../src/core/planning/windows.ts'
import type { ReportedUsage } from '../../src/core/quota/reported-usage.ts'
import { readTime } from '../../src/core/time.ts'
import type { PageHead } from '../../src/landing/page.ts'
import type { StoredPage } from './memory-landing.ts'

/** A row of `_requests` of an export. */
export interface LoadedRequest {
  address: string
  agentId: string
  window: string
  kind: WindowKind
  sentMs: number
  durationMs: number
  returned: number
  scanned: number | null
  billed: number | null
  range: PageRange | null
}

/** A row of `_quota`. */
export interface LoadedUsage {
  reportedMs: number
  usage: ReportedUsage
}

export interface LoadedConversation {
  agentId: string
  id: string
  tsMs: number | null
  firstMs: number | null
  lastMs: number | null
  sessions: number
  /** The record's own last change. */
  modifiedMs: number | null
  fetchedMs: number
  missingSinceMs: number | null
  notExportableSinceMs: number | null
  /** Time of each answer that returned it, and the kind of window. */
  seen: { atMs: number; kind: WindowKind; window: string }[]
}

interface LoadedAgent {
  agentId: string
  title: string | null
  seenMs: number
  /** Times at which its export answered 404. */
  refusedMs: number[]
}

/** An agent that a run has left to later runs. */
interface AgentLeft {
  agentId: string
  code: ErrorCode
  what: string
  endedMs: number
}

export const keyOf = (agentId: string, name: string): string => JSON.stringify([agentId, name])

const timeIn = (value: unknown): number | null =>
  typeof value === 'number' || typeof value === 'string' ? readTime(Number(value)).ms : null

type Version = Pick<LoadedConversation, 'modifiedMs' | 'fetchedMs'>

/** True if version `a` replaces version `b`: by the records' own last changes, or else by the times when they were read. */
const replaces = (a: Version, b: Version): boolean =>
  a.modifiedMs !== null && b.modifiedMs !== null && a.modifiedMs !== b.modifiedMs
    ? a.modifiedMs > b.modifiedMs
    : a.fetchedMs >= b.fetchedMs

export class MemoryWarehouse {
  readonly loaded = new Set<string>()
  readonly windows = new Map<string, WindowProgress>()
  readonly coverage = new Map<string, Coverage>()
  readonly requests: LoadedRequest[] = []
  readonly usages: LoadedUsage[] = []
  readonly agents = new Map<string, LoadedAgent>()
  readonly conversations = new Map<string, LoadedConversation>()
  readonly agentsLeft: AgentLeft[] = []
  /** Agents with a received record that has no id. */
  readonly quarantined = new Set<string>()
  /** Request time of the newest listing, ms. */
  listedMs = 0
  /** The newest page of each window with a `ts`, and the pages after it. */
  private readonly lastPages = new Map<string, LoadedRequest[]>()

  /** Loads pages in order. */
  load(pages: readonly StoredPage[]): void {
    for (const page of pages) {
      if (this.loaded.has(page.address)) continue
      this.loaded.add(page.address)
      const { head } = page
      if (head.goneAgentId !== undefined) this.markGone(head.goneAgentId, head.sentAtServerMs)
      else if (head.facts) this.loadExport(page, head.facts)
      else this.loadListing(page)
    }
    const agents = new Set(pages.flatMap(({ head }) => head.facts?.window.agentId ?? []))
    for (const agentId of agents) this.cut(agentId, { latestMs: Number.POSITIVE_INFINITY, certainSec: 0 })
  }

  /** Cuts the windows that were opened after `latestMs` to what has certainly been read. */
  cutUnpassedTime({ latestMs, settleMs }: ClockReading): void {
    const ahead = [...this.windows.values()].filter(({ done, window }) => done && window.openedAtMs > latestMs)
    for (const agentId of new Set(ahead.map(({ window }) => window.agentId))) {
      const own = [...this.conversations.values()].filter(one => one.agentId === agentId && (one.tsMs ?? 0) <= latestMs)
      const newestMs = own.reduce((newest, { tsMs }) => Math.max(newest, tsMs ?? 0), 0)
      this.cut(agentId, { latestMs, certainSec: Math.floor((newestMs - settleMs) / 1_000) })
    }
  }

  /** Recounts the coverage of the agent's finished windows, without time that had not passed when they were read. */
  private cut(agentId: string, certain: CertainTime): void {
    const own = [...this.windows].filter(([, { window }]) => window.agentId === agentId)
    const read = withoutUnpassedTime(
      own.map(([, progress]) => progress),
      certain,
    )
    for (const [index, [key]] of own.entries()) this.windows.set(key, read[index]!)
    const done = read.filter(progress => progress.done && !isById(progress.window.kind))
    const covered = coverAll(done.flatMap(coveredBy))
    if (covered.length > 0) this.coverage.set(agentId, covered)
    else this.coverage.delete(agentId)
  }

  private loadExport({ address, head, body }: StoredPage, facts: NonNullable<PageHead['facts']>): void {
    const { window } = facts
    const { agentId } = window
    const key = keyOf(agentId, window.name)
    const before = this.windows.get(key) ?? newProgress(window)
    const request: LoadedRequest = {
      ...{ address, agentId, window: window.name, kind: window.kind, sentMs: head.sentAtServerMs },
      durationMs: Math.round(head.receivedAtMs - head.sentAtMs),
      ...{ returned: facts.returned, scanned: facts.scanned, billed: facts.billed, range: pageRangeOf(before, facts) },
    }
    const previous = this.lastPages.get(key) ?? []
    for (const one of previous) if (one.range) one.range = reachingTo(one.range, before, facts)
    this.lastPages.set(key, facts.lastTsMs === null ? [...previous, request] : [request])
    this.requests.push(request)
    if (head.usage) this.usages.push({ reportedMs: head.sentAtServerMs, usage: head.usage })
    this.windows.set(key, advance(before, facts))
    for (const record of recordsIn(body)) this.loadRecord(agentId, record, request)
    const { gone, notExportable } = unansweredOf(facts)
    for (const id of gone) this.markUnanswered(keyOf(agentId, id), 'missingSinceMs', head.sentAtServerMs)
    for (const id of notExportable) this.markUnanswered(keyOf(agentId, id), 'notExportableSinceMs', head.sentAtServerMs)
  }

  private loadRecord(agentId: string, record: Record<string, unknown>, { sentMs, kind, window }: LoadedRequest): void {
    const { ID, ts, firstMessageTS, lastMessageTS, sessionsNum, lastModified } = record
    if (typeof ID !== 'string' && typeof ID !== 'number') return void this.quarantined.add(agentId)
    const key = keyOf(agentId, String(ID))
    const known = this.conversations.get(key)
    const seen = [...(known?.seen ?? []), { atMs: sentMs, kind, window }]
    const modifiedMs = timeIn(lastModified)
    const unmarked = { missingSinceMs: null, notExportableSinceMs: null }
    if (known && !replaces({ modifiedMs, fetchedMs: sentMs }, known)) {
      const isSeenLater = sentMs > known.fetchedMs
      return void this.conversations.set(key, { ...known, ...(isSeenLater && unmarked), seen })
    }
    this.conversations.set(key, {
      ...{ agentId, id: String(ID), tsMs: timeIn(ts), firstMs: timeIn(firstMessageTS), lastMs: timeIn(lastMessageTS) },
      ...{ sessions: Number(sessionsNum ?? 1), modifiedMs, fetchedMs: sentMs, ...unmarked, seen },
    })
  }

  /** Marks the conversation from the first such answer; one of the other kind revokes the mark. */
  private markUnanswered(key: string, mark: 'missingSinceMs' | 'notExportableSinceMs', sentMs: number): void {
    const known = this.conversations.get(key)
    if (!known || known.fetchedMs >= sentMs) return
    const unmarked = { missingSinceMs: null, notExportableSinceMs: null }
    this.conversations.set(key, { ...known, ...unmarked, [mark]: known[mark] ?? sentMs })
  }

  private markGone(agentId: string, atMs: number): void {
    this.agents.get(agentId)?.refusedMs.push(atMs)
  }

  private loadListing({ head, body }: StoredPage): void {
    const { agents = [], starredAgents = [] } = JSON.parse(body.toString()) as Record<string, Record<string, unknown>[]>
    for (const { ID, title } of [...agents, ...starredAgents]) {
      if (typeof ID !== 'string') continue
      const agent = { agentId: ID, title: typeof title === 'string' ? title : null, seenMs: head.sentAtServerMs }
      this.agents.set(ID, { refusedMs: [], ...this.agents.get(ID), ...agent })
    }
    // A listing lands backwards: its first page was requested first, and is loaded last.
    if (head.place.sequence === 1) this.listedMs = Math.max(this.listedMs, head.sentAtServerMs)
  }
}

const recordsIn = (body: Buffer): Record<string, unknown>[] =>
  (JSON.parse(body.toString()) as { data?: Record<string, unknown>[] }).data ?? []
