// Reads lists of several pages to their end.
import { AGENTS } from '../../catalog/resources/agents.ts'
import { TEAMS } from '../../catalog/resources/organizations.ts'
import type { Resource } from '../../catalog/resources/resource.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { parseCount } from '../../core/quota/reported-usage.ts'
import { askPaged } from '../client.ts'
import { readExportEnvelope, readResourceEnvelope } from '../envelopes.ts'
import { readListing } from '../listing.ts'
import type { ApiClient, CallOptions, ExportArguments, SearchArguments, VoicesArguments } from './api-client.ts'
import type { Agent, AuditEntry } from './records/agent.ts'
import type { ExportedConversations } from './records/conversation.ts'
import type { Team, Voice } from './records/workspace-resources.ts'

const AUDIT_PAGE = 200

/**
 * Yields all entries of an agent's audit log, newest first (section 4.5). Pages overlap by a second, because the document does not
 * say whether a page includes the second of its cursor; repeated entries are skipped. If the cursor does not move, the log has ended
 * or a second has more entries than a page. The entries before that second are then requested, under both readings of the cursor.
 */
export async function* allAuditEntries(
  api: ApiClient,
  { agentId, limit = AUDIT_PAGE }: { agentId: string; limit?: number },
  options?: CallOptions,
): AsyncGenerator<AuditEntry, void, undefined> {
  const seen = new Map<string, number>()
  let cursor: number | undefined
  // Smaller if a second has more entries than a page: with the overlap, the same page would be returned again.
  let overlap = 1
  for (;;) {
    const from = cursor === undefined ? {} : { cursorTs: Math.max(0, cursor + overlap) }
    const { entries, nextCursorTs } = await api.getAuditLog({ agentId, limit, ...from }, options)
    // Entries have no id, and identical entries of one second are legitimate, so they are counted.
    const here = new Map<string, number>()
    for (const entry of entries) {
      const text = JSON.stringify(entry)
      const count = (here.get(text) ?? 0) + 1
      here.set(text, count)
      if (count <= (seen.get(text) ?? 0)) continue
      seen.set(text, count)
      yield entry
    }
    const next = parseCount(nextCursorTs)
    if (next === null) return
    const moves = cursor === undefined || next < cursor
    if (!moves && (entries.length === 0 || overlap < 0)) return
    overlap = moves ? 1 : overlap - 1
    if (moves) cursor = next
  }
}

const VOICES_PAGE = 500

/** Yields all matching voices (section 4.9). Voices of providers that fail are missing; `listVoices` names these providers. */
export async function* allVoices(
  api: ApiClient,
  { offset = 0, limit = VOICES_PAGE, ...filters }: VoicesArguments = {},
  options?: CallOptions,
): AsyncGenerator<Voice, void, undefined> {
  for (let at = offset; ; ) {
    const { voices, total } = await api.listVoices({ ...filters, limit, offset: at }, options)
    yield* voices
    at += voices.length
    if (voices.length === 0 || at >= (parseCount(total) ?? Number.POSITIVE_INFINITY)) return
  }
}

/**
 * Yields all pages of an export (section 4.12). Each page is billed. @throws ConvohouseError API_PROTOCOL if a page
 * promises another one without a new cursor
 */
export async function* exportPages(
  api: ApiClient,
  given: ExportArguments,
  options?: CallOptions,
): AsyncGenerator<ExportedConversations, void, undefined> {
  let { cursor } = given
  for (;;) {
    const page = await api.exportConversations({ ...given, ...(cursor !== undefined && { cursor }) }, options)
    yield page
    const { hasMore, nextCursor } = readExportEnvelope(page, { selected: given.convoIds !== undefined })
    if (!hasMore) return
    if (nextCursor === null || nextCursor === cursor)
      throw new ConvohouseError('API_PROTOCOL', {
        what: `The export of agent ${given.agentId} promises another page and has no new cursor`,
        hint: 'Begin again with `fromTs` or `toTs` at the last conversation received, and report this to the vendor.',
      })
    cursor = nextCursor
  }
}

/** `cutOff`: reason why the list may be incomplete; null if it is complete. */
interface Complete {
  cutOff: string | null
}

/** Lists all agents of the workspace, including starred ones, each once (section 4.16). */
export async function allAgents(
  api: ApiClient,
  given: Omit<SearchArguments, 'page' | 'limit'> = {},
  options?: CallOptions,
): Promise<Complete & { agents: Agent[] }> {
  const ask = (page: object) => api.searchAgents({ ...given, ...page }, options)
  const { records, cutOff } = await all(AGENTS, ask)
  return { agents: records as Agent[], cutOff }
}

/** Lists all teams of an organization (section 4.14). */
export async function allTeams(
  api: ApiClient,
  given: { orgId: string },
  options?: CallOptions,
): Promise<Complete & { teams: Team[] }> {
  const ask = (page: object) => api.listTeams({ ...given, ...page }, options)
  const { records, cutOff } = await all(TEAMS, ask)
  return { teams: records as Team[], cutOff }
}

const LIST_PAGE = 100

async function all(
  resource: Resource,
  ask: (page: object) => Promise<object>,
): Promise<Complete & { records: object[] }> {
  const { pages, cutOff } = await readListing({
    ask: number =>
      askPaged(number, async isPaged => ({
        body: readResourceEnvelope(resource, await ask(isPaged ? { page: number, limit: LIST_PAGE } : {})),
      })),
    read: ({ body }) => body,
    isPaged: ({ isPaged }) => isPaged,
  })
  const records = new Map(pages.flatMap(({ answer }) => answer.body.records).map(({ id, record }) => [id, record]))
  return { records: [...records.values()], cutOff: cutOff && `${cutOff.issue} (${cutOff.detail})` }
}
