// Erases forgotten people from the files of a workspace: landed pages and received events.
import { createHash } from 'node:crypto'
import { type DeclaredResource, RESOURCES, requestedBy } from '../../catalog/resources/resources.ts'
import type { Forgotten } from '../../core/identifiers.ts'
import type { Change, Landing, WholePage } from '../../landing/landing.ts'
import { eraseEvents } from '../../spool/erase-events.ts'
import { sealAbandoned } from '../../spool/segments.ts'
import type { Writer } from '../../warehouse/connection.ts'
import { knownIds } from '../../warehouse/planning/known-ids.ts'
import { isErasedEvent } from './forgotten-events.ts'
import { withoutForgotten } from './forgotten-pages.ts'

export interface ErasedFiles {
  /** What was erased, by place. */
  places: Record<string, number>
  /** SHA-256 of the addresses and bodies of the pages that were replaced, in the order of the landing; none without such pages. */
  checksums: string[]
  /** Addresses of the pages that were erased as a whole. */
  pages: string[]
  /** Conversations that only their contact identified: their other events name nobody. */
  begun: { agentId: string; id: string }[]
}

/**
 * Returns whether a page is the vendor's answer that it does not have an id, and no row contains that id any more. The page
 * is named after the id, which a conversation may have supplied.
 */
export async function pagesOfLostIds(
  reader: Pick<Writer, 'rows'>,
  workspaceId: string,
): Promise<(page: WholePage) => boolean> {
  const known = new Map<string, ReadonlySet<string>>()
  for (const resource of RESOURCES.filter(({ ids }) => ids !== undefined && ids.tables.length > 0)) {
    const ids = new Set((await knownIds(reader, workspaceId, resource, Date.now())).map(({ ids }) => ids.join('/')))
    for (const { stream } of requestedBy(resource as DeclaredResource)) known.set(stream, ids)
  }
  return ({ head: { status, place, requestedId, requestedAgentId } }) => {
    const ids = known.get(place.stream)
    if (status !== 404 || requestedId === undefined || ids === undefined) return false
    return !ids.has([...(requestedAgentId === undefined ? [] : [requestedAgentId]), requestedId].join('/'))
  }
}

/**
 * Erases the records and events of forgotten people, answers that are not JSON, and events that nobody can read, since
 * they may be about anybody. Can be repeated. With `dryRun`, only counts.
 * @throws HOME_UNUSABLE, LANDING_CORRUPT, SPOOL_CORRUPT
 */
export async function eraseFiles(options: {
  home: string
  workspaceId: string
  landing: Landing
  forgotten: Forgotten
  dryRun: boolean
  isLost?: (page: WholePage) => boolean
}): Promise<ErasedFiles> {
  const { home, workspaceId, landing, forgotten, dryRun, isLost = () => false } = options
  const pages: string[] = []
  const begun: ErasedFiles['begun'] = []
  const digest = createHash('sha256')
  let [records, changed] = [0, 0]
  const change: Change = page => {
    if (isLost(page)) {
      pages.push(page.address)
      return dryRun ? null : 'erase'
    }
    const kept = withoutForgotten(forgotten, page)
    if (kept === null) return null
    records += (kept.head.forgotten ?? 0) - (page.head.forgotten ?? 0)
    changed += 1
    begun.push(...kept.begun.map(id => ({ agentId: page.head.place.agentId!, id })))
    digest.update(page.address).update(kept.body)
    return dryRun ? null : kept
  }
  const files = await landing.rewrite(change)
  const failed = await landing.eraseFailed({ dryRun })
  if (!dryRun) await sealAbandoned(home, workspaceId, Date.now())
  const {
    events,
    files: spooled,
    damaged,
  } = await eraseEvents({ home, workspaceId, dryRun }, event => isErasedEvent(forgotten, event, begun))
  return {
    pages,
    begun,
    checksums: changed > 0 ? [digest.digest('hex')] : [],
    places: {
      'records in landed pages': records,
      'landed pages': changed + pages.length,
      'landed files': dryRun ? 0 : files,
      'answers that are not JSON': failed,
      'received events': events,
      'files of received events': spooled,
      'damaged files of received events': damaged,
    },
  }
}
