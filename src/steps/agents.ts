// Listing the workspace's agents. The listing lands with its secrets dropped, and only when it differs from the last one
// that landed: a quiet workspace that is polled every few minutes leaves no files behind.
import { createHash } from 'node:crypto'
import { emptyNotes } from '../catalog/inspect.ts'
import { CATALOG_VERSION } from '../catalog/records.ts'
import { compactTimestamp } from '../core/time.ts'
import type { PageHead } from '../landing/page.ts'
import type { AgentsAnswer } from '../vendor/answers.ts'
import type { StepsDependencies } from './dependencies.ts'
import type { Pending } from './pending.ts'
import type { ServerClock } from './server-clock.ts'

export interface ListedAgent {
  agentId: string
  title: string | null
}

const PAGE = 100
/** Past this many pages the vendor is repeating itself in a way that no rule below has caught. */
const MAX_PAGES = 1_000

/** A page of the listing, fit to land. */
interface ListingPage {
  receipt: AgentsAnswer['receipt']
  body: Buffer
}

interface Listing {
  pages: ListingPage[]
  agents: ListedAgent[]
  /** Equal for two listings that tell the same. */
  digest: string
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/**
 * What a page tells that none before it told. Starred agents come again on every page: of five thousand agents they
 * were nine tenths of all bytes.
 */
function newsOf({ parsed }: AgentsAnswer, told: Set<string>, digests: string[]): Record<string, unknown> {
  const unheard = (entries: unknown) =>
    Array.isArray(entries)
      ? entries.filter(entry => {
          const digest = sha256(JSON.stringify(entry))
          if (told.has(digest)) return false
          told.add(digest)
          digests.push(digest)
          return true
        })
      : entries
  const answer = parsed as Record<string, unknown>
  return { ...answer, agents: unheard(answer.agents), starredAgents: unheard(answer.starredAgents) }
}

async function fetchListing(dependencies: StepsDependencies, clock: ServerClock): Promise<Listing> {
  const { vendor, workspaceId, signal } = dependencies
  const agents = new Map<string, ListedAgent>()
  const pages: ListingPage[] = []
  const told = new Set<string>()
  const digests: string[] = []
  for (let page = 1; page <= MAX_PAGES; page++) {
    const answer = await vendor.searchAgents({ workspaceId, page, limit: PAGE, signal })
    clock.tell(answer.receipt)
    const { envelope, receipt } = answer
    if (page > 1 && envelope.agents.every(({ id }) => agents.has(id))) break
    pages.push({ receipt, body: Buffer.from(JSON.stringify(newsOf(answer, told, digests))) })
    for (const { id, record } of envelope.agents) {
      const { title } = record as { title?: unknown }
      agents.set(id, { agentId: id, title: typeof title === 'string' ? title : null })
    }
    if (envelope.hasMore !== true || envelope.listed === 0) break
  }
  return { pages, agents: [...agents.values()], digest: sha256(digests.join('\n')).slice(0, 16) }
}

/** The digest in the name of the newest listing whose first page, which lands last, is there. */
async function landedDigest(dependencies: StepsDependencies): Promise<string | null> {
  const listings = (await dependencies.landing.list('agents')).filter(file => file.sequence === 1)
  return listings.at(-1)?.window.split('-').at(-1) ?? null
}

/** Lists the agents, and lands the listing if it tells anything new. */
export async function listAgents(
  dependencies: StepsDependencies,
  options: { run: string; clock: ServerClock; pending: Pending },
): Promise<ListedAgent[]> {
  const listing = await fetchListing(dependencies, options.clock)
  if (listing.digest !== (await landedDigest(dependencies))) await landListing(dependencies, { ...options, listing })
  return listing.agents
}

async function landListing(
  dependencies: StepsDependencies,
  options: { run: string; clock: ServerClock; pending: Pending; listing: Listing },
): Promise<void> {
  const { clock, listing, pending, run } = options
  // By the server's clock: the newest listing is told by its name, and ours may have been set back.
  const window = `${compactTimestamp(clock.at(dependencies.now()))}-agents-${listing.digest}`
  const landed: [string, PageHead][] = []
  // The last page first, so that a listing is whole when its first page is there.
  for (const [index, { receipt, body }] of [...listing.pages.entries()].reverse()) {
    const head: PageHead = {
      v: 1,
      catalogVersion: CATALOG_VERSION,
      workspaceId: dependencies.workspaceId,
      place: { stream: 'agents', agentId: null, window, generation: 1, sequence: index + 1 },
      run,
      lease: null,
      request: { path: '/v3/agents/search', query: { workspaceId: dependencies.workspaceId, page: String(index + 1) } },
      status: receipt.status,
      sentAtMs: receipt.sentAtMs,
      receivedAtMs: receipt.receivedAtMs,
      sentAtServerMs: clock.at(receipt.sentAtMs),
      bodyBytes: body.length,
      lastPage: index === listing.pages.length - 1,
      facts: null,
      usage: null,
      rateLimit: null,
      notes: emptyNotes(),
    }
    landed.unshift([await dependencies.landing.land(head, body), head])
  }
  for (const [path, head] of landed) pending.add(path, head)
}
