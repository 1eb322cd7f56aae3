// Advances the windows of a batch: their progress, their coverage, and the range of `ts` that each page covers. Runs in the transaction that
// loads the pages' records.
import { quoteText } from '../../catalog/layout.ts'
import { advance, type PageRange, pageRangeOf, reachingTo } from '../../core/planning/window-progress.ts'
import { isById, newProgress, type WindowProgress } from '../../core/planning/windows.ts'
import { iso, type Row, type Writer } from '../connection.ts'
import { addFinishedWindows, cutOutOfOrder } from '../planning/coverage.ts'
import type { LoadablePage } from './load-input.ts'

/** A second as the text of a TIMESTAMPTZ; null stays null. */
export const atSecond = (second: number | null | undefined): string | null =>
  second == null ? null : iso(second * 1_000)

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
export async function advanceWindows(
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
  /** The newest page of each window that has a `ts`, and the pages after it; their ranges end at the next page. */
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

/** Ends the ranges of the pages before this one that earlier batches loaded: the newest with conversations, and those after it. */
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
