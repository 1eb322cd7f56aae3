// Listing the workspace's agents. The listing lands with its secrets dropped, and only when it differs from the last one
// that landed: a quiet workspace that is polled every few minutes leaves no files behind.
import { createHash } from 'node:crypto'
import { emptyNotes, type PageNotes } from '../catalog/inspect.ts'
import { CATALOG_VERSION } from '../catalog/records.ts'
import { compactTimestamp } from '../core/time.ts'
import { writeExactly } from '../json/exact-json.ts'
import type { PageHead } from '../landing/page.ts'
import type { AgentsAnswer } from '../vendor/answers.ts'
import { type CutOff, readListing } from '../vendor/listing.ts'
import { countRemoved } from '../vendor/redaction.ts'
import { goneAgents } from '../warehouse/planning/planner-queries.ts'
import type { StepsDependencies } from './dependencies.ts'
import type { Pending } from './pending.ts'
import type { ServerClock } from './server-clock.ts'

export interface ListedAgent {
  agentId: string
  title: string | null
}

const PAGE = 100

export interface ListedAgents {
  agents: ListedAgent[]
  /** Ids of agents that no request can be made for. */
  unusable: string[]
  /** Why there may be more than these; null where it is known that there are not. */
  cutOff: CutOff | null
}

/** A page of the listing, fit to land. */
interface ListingPage {
  receipt: AgentsAnswer['receipt']
  body: Buffer
  query: Record<string, string>
  notes: PageNotes
}

interface Fetched extends ListedAgents {
  pages: ListingPage[]
  /** Equal for two listings that tell the same. */
  digest: string
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** An entry of a listing, and where inside of it something was removed. */
const IN_ENTRY = /^((?:agents|starredAgents)\[\d+\])\.(.*)$/

/**
 * What a page tells that none before it told. Starred agents come again on every page: of five thousand agents they
 * were nine tenths of all bytes.
 */
function newsOf(
  { parsed, droppedPaths }: AgentsAnswer,
  told: Set<string>,
  digests: string[],
): Pick<ListingPage, 'body' | 'notes'> {
  const answer = parsed as Record<string, unknown>
  const kept = new Set<string>()
  const unheard = (list: 'agents' | 'starredAgents'): Record<string, unknown> => {
    const entries = answer[list]
    if (!Array.isArray(entries)) return {}
    const news = entries.filter((entry, index) => {
      const digest = sha256(writeExactly(entry))
      if (told.has(digest)) return false
      told.add(digest)
      digests.push(digest)
      kept.add(`${list}[${index}]`)
      return true
    })
    return { [list]: news }
  }
  const body = Buffer.from(writeExactly({ ...answer, ...unheard('agents'), ...unheard('starredAgents') }))
  const dropped = droppedPaths.flatMap(path => {
    const [, entry, inside] = IN_ENTRY.exec(path) ?? []
    return entry === undefined ? [path] : kept.has(entry) ? [inside!] : []
  })
  return { body, notes: { ...emptyNotes(), removed: countRemoved(dropped) } }
}

async function fetchListing(dependencies: StepsDependencies, clock: ServerClock): Promise<Fetched> {
  const { vendor, workspaceId, signal } = dependencies
  const { pages: answers, cutOff } = await readListing({
    ask: page => vendor.searchAgents({ workspaceId, page, limit: PAGE, signal }),
    read: answer => answer.envelope,
    isPaged: answer => answer.isPaged,
  })
  const agents = new Map<string, ListedAgent>()
  const unusable = new Set<string>()
  const told = new Set<string>()
  const digests: string[] = []
  const pages = answers.map(({ answer, number }) => {
    clock.tell(answer.receipt)
    for (const { id, record } of answer.envelope.agents) {
      const { title } = record as { title?: unknown }
      agents.set(id, { agentId: id, title: typeof title === 'string' ? title : null })
    }
    for (const id of answer.envelope.unusable) unusable.add(id)
    const query: Record<string, string> = answer.isPaged ? { workspaceId, page: String(number) } : {}
    return { receipt: answer.receipt, query, ...newsOf(answer, told, digests) }
  })
  // The same agents tell more once it is known that there are no others.
  const digest = sha256([...digests, ...(cutOff ? [cutOff.issue] : [])].join('\n')).slice(0, 16)
  return { pages, agents: [...agents.values()], unusable: [...unusable], digest, cutOff }
}

/** The digest in the name of the newest listing whose first page, which lands last, is there. */
async function landedDigest(dependencies: StepsDependencies): Promise<string | null> {
  const listings = (await dependencies.landing.list('agents')).filter(
    ({ sequence, window }) => sequence === 1 && window.includes('-agents-'),
  )
  return listings.at(-1)?.window.split('-').at(-1) ?? null
}

/** True where one of these is marked as gone, or is about to be: that it is listed is news. */
async function areBack(
  { warehouse, workspaceId }: StepsDependencies,
  listed: readonly ListedAgent[],
  pending: Pending,
) {
  const ids = new Set(listed.map(({ agentId }) => agentId))
  const waiting = pending.all().flatMap(({ head }) => head.goneAgentId ?? [])
  return [...waiting, ...(await goneAgents(warehouse.writer, workspaceId))].some(id => ids.has(id))
}

/** Lists the agents, and lands the listing if it tells anything new. */
export async function listAgents(
  dependencies: StepsDependencies,
  options: { run: string; clock: ServerClock; pending: Pending },
): Promise<ListedAgents> {
  const listing = await fetchListing(dependencies, options.clock)
  const isNews =
    listing.digest !== (await landedDigest(dependencies)) ||
    (await areBack(dependencies, listing.agents, options.pending))
  if (isNews) await landListing(dependencies, { ...options, listing })
  return { agents: listing.agents, unusable: listing.unusable, cutOff: listing.cutOff }
}

/** How the head of a listing's page tells of the end: a listing that may be cut off has no last page, and the reason instead. */
export function endOf(
  { pages, cutOff }: { pages: readonly unknown[]; cutOff: CutOff | null },
  index: number,
): Pick<PageHead, 'lastPage' | 'cutOff'> {
  const isLast = index === pages.length - 1
  return { lastPage: isLast && cutOff === null, ...(isLast && cutOff && { cutOff: cutOff.issue }) }
}

async function landListing(
  dependencies: StepsDependencies,
  options: { run: string; clock: ServerClock; pending: Pending; listing: Fetched },
): Promise<void> {
  const { clock, listing, pending, run } = options
  // By the server's clock: the newest listing is told by its name, and ours may have been set back.
  const window = `${compactTimestamp(clock.at(dependencies.now()))}-agents-${listing.digest}`
  const landed: [string, PageHead][] = []
  // The last page first, so that a listing is whole when its first page is there.
  for (const [index, { receipt, body, query, notes }] of [...listing.pages.entries()].reverse()) {
    const head: PageHead = {
      v: 1,
      catalogVersion: CATALOG_VERSION,
      workspaceId: dependencies.workspaceId,
      place: { stream: 'agents', agentId: null, window, generation: 1, sequence: index + 1 },
      run,
      lease: null,
      request: { path: '/v3/agents/search', query },
      status: receipt.status,
      sentAtMs: receipt.sentAtMs,
      receivedAtMs: receipt.receivedAtMs,
      sentAtServerMs: clock.at(receipt.sentAtMs),
      bodyBytes: body.length,
      ...endOf(listing, index),
      facts: null,
      usage: null,
      rateLimit: null,
      notes,
    }
    landed.unshift([await dependencies.landing.land(head, body), head])
  }
  for (const [path, head] of landed) pending.add(path, head)
}
