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

async function fetchListing(dependencies: StepsDependencies, clock: ServerClock): Promise<AgentsAnswer[]> {
  const { vendor, workspaceId, signal } = dependencies
  const answers: AgentsAnswer[] = []
  const seen = new Set<string>()
  for (let page = 1; page <= MAX_PAGES; page++) {
    const answer = await vendor.searchAgents({ workspaceId, page, limit: PAGE, signal })
    clock.tell(answer.receipt)
    const ids = answer.envelope.agents.map(agent => agent.id)
    const news = ids.some(id => !seen.has(id))
    if (page > 1 && !news) break
    answers.push(answer)
    for (const id of ids) seen.add(id)
    if (answer.envelope.hasMore !== true || answer.envelope.listed === 0) break
  }
  return answers
}

const digestOf = (answers: AgentsAnswer[]): string =>
  createHash('sha256')
    .update(JSON.stringify(answers.map(answer => answer.envelope.agents.map(agent => agent.record))))
    .digest('hex')
    .slice(0, 16)

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
  const answers = await fetchListing(dependencies, options.clock)
  const digest = digestOf(answers)
  if (digest !== (await landedDigest(dependencies))) await landListing(dependencies, { ...options, answers, digest })
  const agents = new Map<string, ListedAgent>()
  for (const { id, record } of answers.flatMap(answer => answer.envelope.agents)) {
    const { title } = record as { title?: unknown }
    agents.set(id, { agentId: id, title: typeof title === 'string' ? title : null })
  }
  return [...agents.values()]
}

async function landListing(
  dependencies: StepsDependencies,
  options: { run: string; clock: ServerClock; pending: Pending; answers: AgentsAnswer[]; digest: string },
): Promise<void> {
  const { answers, clock, digest, pending, run } = options
  const window = `${compactTimestamp(dependencies.now())}-agents-${digest}`
  const landed: [string, PageHead][] = []
  // The last page first, so that a listing is whole when its first page is there.
  for (const [index, answer] of [...answers.entries()].reverse()) {
    const body = Buffer.from(JSON.stringify(answer.parsed))
    const head: PageHead = {
      v: 1,
      catalogVersion: CATALOG_VERSION,
      workspaceId: dependencies.workspaceId,
      place: { stream: 'agents', agentId: null, window, generation: 1, sequence: index + 1 },
      run,
      lease: null,
      request: { path: '/v3/agents/search', query: { workspaceId: dependencies.workspaceId, page: String(index + 1) } },
      status: answer.receipt.status,
      sentAtMs: answer.receipt.sentAtMs,
      receivedAtMs: answer.receipt.receivedAtMs,
      sentAtServerMs: clock.at(answer.receipt.sentAtMs),
      bodyBytes: body.length,
      lastPage: index === answers.length - 1,
      facts: null,
      usage: null,
      rateLimit: null,
      notes: emptyNotes(),
    }
    landed.unshift([await dependencies.landing.land(head, body), head])
  }
  for (const [path, head] of landed) pending.add(path, head)
}
