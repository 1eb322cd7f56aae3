// The bookkeeping of a batch besides its records: loaded files, progress of windows, requests and their cost, reported quota and
// quarantined records. Written in the transaction that loads the records.

import { CATALOG_VERSION } from '../../catalog/records.ts'
import type { PageRange } from '../../core/planning/window-progress.ts'
import { iso, type Row, type Writer } from '../connection.ts'
import type { LoadablePage } from './load-input.ts'
import { advanceWindows, atSecond } from './window-progress.ts'

export interface LoadedFile {
  page: LoadablePage
  records: number
  /** Whether the page took the tolerant path. */
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
      records,
      coerced,
      catalog_version: CATALOG_VERSION,
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
