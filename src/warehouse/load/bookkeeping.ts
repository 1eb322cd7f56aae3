// The bookkeeping of a batch besides its records: loaded files, progress of windows, requests and their cost, reported
// quota and quarantined records. Written in the transaction that loads the records.
import { quoteText } from '../../catalog/layout.ts'
import { advance, type PageRange, pageRangeOf, reachingTo } from '../../core/planning/window-progress.ts'
import { isById, newProgress, type WindowProgress } from '../../core/planning/windows.ts'
import { iso, type Row, type Writer } from '../connection.ts'
import { addFinishedWindows, cutOutOfOrder } from '../planning/coverage.ts'
import type { LoadablePage } from './load-input.ts'

export interface LoadedFile {
  page: LoadablePage
  records: number
  /** True if the page took the tolerant path. */
  coerced: boolean
  unreadable: { element: number; reason: string }[]
}

const requestRow = (workspaceId: string, { address, head }: LoadablePage, range: PageRange | null): Row => ({
  workspace_id: workspaceId,
  file: address,
  run: head.run,
  stream: head.place.stream,
  agent_id: head.place.agentId,
  window_name: head.place.window,
  sent_at: iso(head.sentAtServerMs),
  duration_ms: Math.round(head.receivedAtMs - head.sentAtMs),
  status: head.status,
  returned: head.facts?.returned ?? null,
  scanned: head.facts?.scanned ?? null,
  billed_sessions: head.facts?.billed ?? null,
  body_bytes: head.bodyBytes,
  kind: head.facts?.window.kind ?? null,
  from_at: atSecond(range?.from),
  to_at: atSecond(range?.to),
  log_id: head.bill?.logId ?? null,
  usage_summary: head.bill?.summary ?? null,
  export_request_count: head.usage?.exportRequestCount ?? null,
})

const quotaRow = (workspaceId: string, { head }: LoadablePage): Row[] =>
  head.usage === null && head.rateLimit === null
    ? []
    : [
        {
          workspace_id: workspaceId,
          reported_at: iso(head.sentAtServerMs),
          period_key: head.usage?.periodKey ?? null,
          used_sessions: head.usage?.billableUsedThisPeriod ?? null,
          included_sessions: head.usage?.includedQuota ?? null,
          remaining_sessions: head.usage?.billableRemainingThisPeriod ?? null,
          overage_sessions: head.usage?.overageUsedThisPeriod ?? null,
          overage_packs: head.usage?.overagePacksCharged ?? null,
          requests_per_hour: head.rateLimit?.requestsPerHour ?? null,
          remaining_requests: head.rateLimit?.remainingHour ?? null,
        },
      ]

/** Writes the bookkeeping of a loaded batch, inside the caller's transaction. */
export async function writeBookkeeping(
  writer: Writer,
  options: { workspaceId: string; record: string; files: readonly LoadedFile[]; nowMs: number },
): Promise<void> {
  const { workspaceId, files, nowMs } = options
  const pages = files.map(file => file.page)
  await writer.append(
    '_loads',
    files.map(({ page, records, coerced }) => ({
      workspace_id: workspaceId,
      file: page.address,
      stream: page.head.place.stream,
      records: records + (page.head.forgotten ?? 0),
      coerced,
      loaded_at: iso(nowMs),
    })),
  )
  const ranges = await advanceWindows(writer, workspaceId, pages)
  await writer.append(
    '_requests',
    pages.map(page => requestRow(workspaceId, page, ranges.get(page) ?? null)),
  )
  await writer.append(
    '_quota',
    pages.flatMap(page => quotaRow(workspaceId, page)),
  )
  const unreadable = files.flatMap(({ page, unreadable: found }) => found.map(one => ({ ...one, file: page.address })))
  await quarantine(writer, { workspaceId, record: options.record, nowMs }, unreadable)
}

/** Adds elements that could not be loaded to `_quarantine`, inside the caller's transaction. */
export const quarantine = (
  writer: Writer,
  { workspaceId, record, nowMs }: { workspaceId: string; record: string; nowMs: number },
  unreadable: readonly { file: string; element: number; reason: string }[],
): Promise<void> =>
  writer.append(
    '_quarantine',
    unreadable.map(({ file, element, reason }) => ({
      workspace_id: workspaceId,
      record,
      file,
      element,
      reason,
      quarantined_at: iso(nowMs),
    })),
  )

/** Returns a second as the text of a TIMESTAMPTZ; null stays null. */
const atSecond = (second: number | null | undefined): string | null => (second == null ? null : iso(second * 1_000))

const windowRow = (workspaceId: string, progress: WindowProgress): Row => ({
  workspace_id: workspaceId,
  agent_id: progress.window.agentId,
  window_name: progress.window.name,
  kind: progress.window.kind,
  from_at: atSecond(progress.window.fromSec),
  to_at: atSecond(progress.window.toSec),
  opened_at: iso(progress.window.openedAtMs),
  done: progress.done,
  pages: progress.pages,
  returned: progress.returned,
  scanned: progress.scanned,
  billed: progress.billed,
  progress,
})

const windowKey = (agentId: string, window: string): string => JSON.stringify([agentId, window])

/** Advances the stored windows by the batch's pages, in order. @returns the range of `ts` that each page covers */
async function advanceWindows(
  writer: Writer,
  workspaceId: string,
  pages: readonly LoadablePage[],
): Promise<Map<LoadablePage, PageRange | null>> {
  const ranges = new Map<LoadablePage, PageRange | null>()
  const facts = pages.flatMap(page => (page.head.facts ? [page.head.facts] : []))
  if (facts.length === 0) return ranges
  const names = [...new Set(facts.map(fact => quoteText(fact.window.name)))].join(', ')
  const where = `workspace_id = ${quoteText(workspaceId)} AND window_name IN (${names})`
  const rows = await writer.rows<{ agent_id: string; window_name: string; progress: string }>(
    `SELECT agent_id, window_name, progress FROM _windows WHERE ${where}`,
  )
  const windows = new Map<string, WindowProgress>(
    rows.map(row => [windowKey(row.agent_id, row.window_name), JSON.parse(row.progress) as WindowProgress]),
  )
  /** For each window, the newest page with a `ts`, and the pages after it. Their ranges end at the next page. */
  const newest = new Map<string, LoadablePage[]>()
  for (const page of pages) {
    const fact = page.head.facts
    if (fact === null) continue
    const key = windowKey(fact.window.agentId, fact.window.name)
    const before = windows.get(key) ?? newProgress(fact.window)
    ranges.set(page, pageRangeOf(before, fact))
    const previous = newest.get(key) ?? []
    for (const one of previous) {
      const range = ranges.get(one)
      if (range) ranges.set(one, reachingTo(range, before, fact))
    }
    const isPositionStored = previous.every(({ head }) => head.facts!.lastTsMs === null)
    if (isPositionStored && before.pages > 0 && !isById(fact.window.kind))
      await endStoredPages(writer, workspaceId, before, page)
    newest.set(key, fact.lastTsMs === null ? [...previous, page] : [page])
    windows.set(key, advance(before, fact))
  }
  await writer.run(`DELETE FROM _windows WHERE ${where}`)
  await writer.append(
    '_windows',
    [...windows.values()].map(progress => windowRow(workspaceId, progress)),
  )
  await addFinishedWindows(writer, workspaceId, [...windows.values()])
  await cutOutOfOrder(writer, workspaceId, [...windows.values()])
  return ranges
}

/** Ends the ranges of earlier batches' pages before this one: the newest page with conversations, and those after it. */
async function endStoredPages(
  writer: Writer,
  workspaceId: string,
  before: WindowProgress,
  { address, head }: LoadablePage,
): Promise<void> {
  const { window } = head.facts!
  const here = 'workspace_id = $workspace AND agent_id = $agent AND window_name = $window'
  const params = { workspace: workspaceId, agent: window.agentId, window: window.name }
  const rows = await writer.rows<PageRange & { file: string }>(
    `SELECT file, epoch(from_at)::BIGINT::DOUBLE AS "from", epoch(to_at)::BIGINT::DOUBLE AS "to" FROM _requests
     WHERE ${here} AND file < $file AND to_at IS NOT NULL
       AND file >= coalesce((SELECT max(file) FROM _requests WHERE ${here} AND file < $file AND returned > 0), '')`,
    { ...params, file: address },
  )
  for (const row of rows) {
    const { from, to } = reachingTo(row, before, head.facts!)
    if (from === row.from && to === row.to) continue
    await writer.run(
      `UPDATE _requests SET from_at = $from::TIMESTAMPTZ, to_at = $to::TIMESTAMPTZ WHERE ${here} AND file = $file`,
      { ...params, file: row.file, from: atSecond(from), to: atSecond(to) },
    )
  }
}
