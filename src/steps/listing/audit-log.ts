// Reads the audit log of an agent: from its newest entry back to the newest one that is stored, and one second further.
import type { DeclaredResource } from '../../catalog/resources/resources.ts'
import { type LogPage, readLog } from '../../client/log-pages.ts'
import { parseCount } from '../../core/quota/reported-usage.ts'
import { newestEntrySec } from '../../warehouse/planning/known-ids.ts'
import type { ResourceFetching } from '../planning/facts.ts'
import type { ResourceListing } from './resource-pages.ts'

type Answer = ResourceListing['pages'][number]['answer']

/** @throws as `readLog` */
export async function fetchAuditLog(
  { vendor, warehouse, workspaceId, signal }: ResourceFetching,
  resource: DeclaredResource,
  ids: readonly string[],
): Promise<ResourceListing> {
  return readLog({
    ask: ({ page, cursor, limit }) => vendor.resource({ resource, workspaceId, ids, page, cursor, limit, signal }),
    read: logPage,
    limit: resource.pageLimit ?? 100,
    untilSec: await newestEntrySec(warehouse.writer, workspaceId, ids[0]!),
  })
}

/** Null where the vendor does not have the agent. */
function logPage({ envelope, parsed }: Answer): LogPage | null {
  if (envelope === null) return null
  const { nextCursorTs } = parsed as { nextCursorTs?: unknown }
  const times = envelope.records.flatMap(({ record }) => parseCount(record.ts) ?? [])
  return { ids: envelope.ids, times, nextCursor: parseCount(nextCursorTs) }
}
