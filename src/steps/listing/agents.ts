// Lists the workspace's agents. A listing lands only if it differs from the last landed one, so polling an unchanged
// workspace every few minutes leaves no files.
import { createHash } from 'node:crypto'
import { CATALOG_VERSION } from '../../catalog/records.ts'
import { agentIdOf, starredIdsIn } from '../../catalog/resources/agent-details.ts'
import { AGENTS } from '../../catalog/resources/agents.ts'
import { isSegment } from '../../client/address.ts'
import type { CutOff } from '../../client/listing.ts'
import { writeExactly } from '../../json/exact-json.ts'
import type { StepsDependencies } from '../dependencies.ts'
import type { Planning } from '../planning/facts.ts'
import type { ServerClock } from '../server-clock.ts'
import { fetchResource, landPages, pathInRecord, type ResourceListing, type ResourcePage } from './resource-pages.ts'

export interface ListedAgent {
  agentId: string
  title: string | null
}

interface ListedAgents {
  agents: ListedAgent[]
  /** Ids that no URL can carry. */
  unusable: string[]
  /** Reason why the listing may be incomplete; null if it is known to be complete. */
  cutOff: CutOff | null
}

interface Fetched extends ListedAgents {
  pages: ResourcePage[]
  /** Digest that two listings with the same content share. */
  digest: string
}

/** Lists the agents, and lands the listing if it contains anything new. */
export async function listAgents(fetching: Planning): Promise<ListedAgents> {
  const { agents: listed, unusable, cutOff, digest, pages } = await fetchListing(fetching, fetching.clock)
  const isNew = digest !== (await landedDigest(fetching)) || (await areBack(fetching, listed))
  if (isNew) await landPages(fetching, { resource: AGENTS, name: `${AGENTS.landedAs}-${digest}`, pages, cutOff })
  return { agents: listed, unusable, cutOff }
}

async function fetchListing(
  dependencies: Pick<StepsDependencies, 'vendor' | 'workspaceId' | 'signal'>,
  clock: ServerClock,
): Promise<Fetched> {
  const { pages: answers, cutOff } = await fetchResource(dependencies, AGENTS)
  const listed = new Map<string, ListedAgent>()
  const unusable = new Set<string>()
  const seen = new Set<string>()
  const starred = starredIn(answers)
  const pages = answers.map(page => {
    const { receipt, envelope } = page.answer
    clock.observe(receipt)
    for (const { id, record } of envelope?.records ?? []) {
      const { title } = record as { title?: unknown }
      if (isSegment(id)) listed.set(id, { agentId: id, title: typeof title === 'string' ? title : null })
      else unusable.add(id)
    }
    return {
      receipt,
      query: page.answer.query,
      ...withoutRepeats(page, { seen, starred }),
    }
  })
  // The digest includes completeness, since a complete listing shows more than an incomplete one of the same agents. It
  // includes the catalog's version, so that after an upgrade the next listing fills new columns.
  const reported = [...(cutOff ? [cutOff.issue] : []), ...(starred ? ['starred', ...[...starred].sort()] : [])]
  const digest = sha256([CATALOG_VERSION, ...seen, ...reported].join('\n')).slice(0, 16)
  return { pages, agents: [...listed.values()], unusable: [...unusable], digest, cutOff }
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Returns the ids in the lists of starred agents of all pages; null if no page has one. */
function starredIn(pages: ResourceListing['pages']): Set<string> | null {
  const lists = pages.flatMap(({ answer }) => {
    const ids = starredIdsIn(answer.parsed)
    return ids ? [ids] : []
  })
  return lists.length > 0 ? new Set(lists.flat()) : null
}

/** Matches a path inside an entry of a listing. */
const IN_ENTRY = /^(\w+\[\d+\])\./

/**
 * Returns a page without the entries of earlier pages, whose digests are in `seen`. The vendor repeats starred agents
 * on every page: with five thousand agents these repeats were nine tenths of all bytes.
 */
function withoutRepeats(
  { answer: { parsed, droppedPaths } }: ResourceListing['pages'][number],
  { seen, starred }: { seen: Set<string>; starred: ReadonlySet<string> | null },
): Pick<ResourcePage, 'body' | 'removed' | 'starredIds'> {
  const body = { ...(parsed as Record<string, unknown>) }
  const kept = new Set<string>()
  const ids = new Set<string>()
  for (const list of AGENTS.envelope) {
    const entries = body[list]
    if (!Array.isArray(entries)) continue
    body[list] = entries.filter((entry, index) => {
      const digest = sha256(writeExactly(entry))
      if (seen.has(digest)) return false
      seen.add(digest)
      kept.add(`${list}[${index}]`)
      ids.add(agentIdOf(entry) ?? '')
      return true
    })
  }
  const isKept = (path: string) => {
    const entry = IN_ENTRY.exec(path)?.[1]
    return entry === undefined || kept.has(entry)
  }
  return {
    body: Buffer.from(writeExactly(body)),
    removed: droppedPaths.filter(isKept).map(path => pathInRecord(AGENTS, path)),
    ...(starred && { starredIds: [...ids].filter(id => starred.has(id)) }),
  }
}

/** Returns the digest in the name of the newest listing that landed completely; the first page lands last. */
async function landedDigest(dependencies: Pick<StepsDependencies, 'landing'>): Promise<string | null> {
  const listings = (await dependencies.landing.list(AGENTS.stream)).filter(
    ({ sequence, window }) => sequence === 1 && window.includes(`-${AGENTS.landedAs}-`),
  )
  return listings.at(-1)?.window.split('-').at(-1) ?? null
}

/** True if a listed agent is marked as gone, or a pending refusal will mark it: then even an unchanged listing lands. */
async function areBack({ facts, pending }: Planning, listed: readonly ListedAgent[]): Promise<boolean> {
  const ids = new Set(listed.map(({ agentId }) => agentId))
  const waiting = pending.all().flatMap(({ head }) => head.goneAgentId ?? [])
  return [...waiting, ...(await facts.goneAgents())].some(id => ids.has(id))
}
