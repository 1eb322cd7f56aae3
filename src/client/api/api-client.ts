// The client of the whole API for other programs, with a typed method for each of its sixteen endpoints.

import { z } from 'zod'
import { readCsvAnswer, readJsonAnswer } from '../answers.ts'
import { createCaller, JSON_TYPE, type VendorClientOptions } from '../caller.ts'
import { parseOrFault } from '../envelopes.ts'
import type { RequestContext } from '../faults.ts'
import { type Effect, OPERATIONS, type Operation } from './operations.ts'
import type { Agent, AuditEntry, Metric, MetricChanges, NewTool, NewVariable, Tool, Variable } from './records/agent.ts'
import type { ExportedConversations } from './records/conversation.ts'
import type { Answer, Succeeded } from './records/record.ts'
import type {
  CrawlerPage,
  Organization,
  Team,
  Voice,
  Workspace,
  WorkspaceChanges,
} from './records/workspace-resources.ts'
import { type Arguments, operationTarget } from './target.ts'

export interface CallOptions {
  /** Stops the request. */
  signal?: AbortSignal
}

interface OfAgent {
  agentId: string
}

interface OfOrganization {
  orgId: string
}

interface OfCrawlerJob {
  workspaceId: string
  jobId: string
}

/** Usual parameters of a list whose parameters the document does not show. The vendor may refuse or ignore them. */
interface PageQuery {
  /** Page number, from 1. */
  page?: number
  /** 1 to 100. */
  limit?: number
}

export interface ExportArguments extends OfAgent {
  /** 1 to 100; default: 20. */
  limit?: number
  /** Sort order; default: `desc`, newest first. */
  sort?: 'asc' | 'desc'
  /** Inclusive, unix seconds or ms; compared with the conversations' `ts`. */
  fromTs?: number
  toTs?: number
  /** `nextCursor` of the previous page; keep the other arguments while paging. */
  cursor?: string
  /** Exports exactly these conversations, at most 500, without paging. */
  convoIds?: readonly string[]
}

export interface VoicesArguments {
  /** A short code (`de`), a BCP-47 tag (`de-AT`), or an English name (`German`). */
  language?: string
  /** `male`, `female` or `neutral`; also `masculine`, `feminine`, `m`, `f`. */
  gender?: string
  /** A part of the accent's name. */
  accent?: string
  /** Default: all. */
  providers?: readonly string[]
  /** 1 to 500. */
  limit?: number
  offset?: number
}

export interface SearchArguments extends PageQuery {
  workspaceId?: string
  search?: string
  sortBy?: 'newest' | 'oldest' | 'firstCreated' | 'lastCreated' | 'alphabetical'
  starredOnly?: boolean
}

/** An answer of a listing with pages; fields other than the list may be missing. */
type Listed<List> = Succeeded & List & { readonly total?: number | null; readonly hasMore?: boolean | null }

/**
 * Each method makes the request of one endpoint and resolves to its answer, as the API document describes it and with its unlisted
 * fields. Answers contain their secrets (`serverUrlSecret`, values of variables, `dashboardPassword`, …), but never the API token.
 *
 * @throws ConvohouseError FLAG_INVALID for arguments that cannot be sent; no request is made then.
 * @throws VendorError with a stable `code` and, after an answer, `facts.status`: API_UNAUTHORIZED (401), API_FORBIDDEN (402, 403),
 *   API_NOT_FOUND (404), API_BAD_REQUEST (other 4xx; `issues` has the vendor's messages), API_RATE_LIMITED (429; `facts.retryAfterMs`
 *   if the vendor names a time), API_PROTOCOL; and API_UNAVAILABLE, API_TIMEOUT and API_NOT_JSON, which may succeed later: reads are
 *   tried up to `maxAttempts` times, writes only again if nothing was sent. INTERRUPTED when the signal fires or the client is closed.
 */
export interface ApiClient {
  /** Creates a tool (section 4.1). */
  createTool(given: OfAgent & { tool: NewTool }, options?: CallOptions): Promise<Answer<Tool>>
  /** Lists an agent's tools, with their fields (section 4.2). */
  listTools(given: OfAgent, options?: CallOptions): Promise<Answer<readonly Tool[]>>
  /** Creates a variable (section 4.3). @throws VendorError API_BAD_REQUEST if the agent has its key */
  createVariable(given: OfAgent & { variable: NewVariable }, options?: CallOptions): Promise<Answer<Variable>>
  /** Lists an agent's variables, with their current values (section 4.4). */
  listVariables(given: OfAgent, options?: CallOptions): Promise<Answer<readonly Variable[]>>
  /** Gets a page of an agent's audit log, newest entries first (section 4.5). `cursorTs`: the previous page's `nextCursorTs`. */
  getAuditLog(
    given: OfAgent & { limit?: number; cursorTs?: number },
    options?: CallOptions,
  ): Promise<Succeeded & { readonly entries: readonly AuditEntry[]; readonly nextCursorTs?: number | null }>
  /** Changes the given fields of the workspace (section 4.6). */
  updateWorkspace(
    given: { workspaceId: string; updates: WorkspaceChanges },
    options?: CallOptions,
  ): Promise<Answer<Workspace>>
  /** Gets a custom metric (section 4.7). @throws VendorError API_NOT_FOUND */
  getCustomMetric(
    given: OfAgent & { metricId: string },
    options?: CallOptions,
  ): Promise<Succeeded & { readonly metric: Metric }>
  /** Changes the given fields of a custom metric, which must not be a system metric (section 4.8). */
  updateCustomMetric(
    given: OfAgent & { metricId: string; metric: MetricChanges },
    options?: CallOptions,
  ): Promise<Succeeded & { readonly metric: Metric }>
  /** Lists a page of matching voices (section 4.9). `providersFailed` names providers that failed, whose voices are missing. */
  listVoices(
    given?: VoicesArguments,
    options?: CallOptions,
  ): Promise<
    Succeeded & {
      readonly voices: readonly Voice[]
      readonly total?: number
      readonly limit?: number
      readonly offset?: number
      readonly providersQueried?: readonly string[]
      readonly providersFailed?: readonly { readonly provider: string; readonly error: string }[]
    }
  >
  /** Gets a page that a crawler job has read (section 4.10). */
  getCrawlerPage(given: OfCrawlerJob & { pageId: string }, options?: CallOptions): Promise<Answer<CrawlerPage>>
  /** Deletes a crawler job and its pages (section 4.11). */
  deleteCrawlerJob(given: OfCrawlerJob, options?: CallOptions): Promise<Succeeded>
  /**
   * Exports a page, or a selection, of an agent's conversations (section 4.12). Each session with a person's messages
   * is billed, as is each retry of a request that reached the vendor; `usage` has the cost. Requests count toward the
   * hourly limit. `format: 'csv'` returns CSV.
   */
  exportConversations(
    given: ExportArguments & { format?: 'json' },
    options?: CallOptions,
  ): Promise<ExportedConversations>
  exportConversations(given: ExportArguments & { format: 'csv' }, options?: CallOptions): Promise<string>
  /** Gets an organization (section 4.13). */
  getOrganization(given: OfOrganization, options?: CallOptions): Promise<Answer<Organization>>
  /** Lists a page of an organization's teams (section 4.14). */
  listTeams(
    given: OfOrganization & PageQuery,
    options?: CallOptions,
  ): Promise<Listed<{ readonly teams: readonly Team[] }>>
  /** Deletes an organization and all its client users (section 4.15). */
  deleteOrganization(
    given: OfOrganization,
    options?: CallOptions,
  ): Promise<Succeeded & { readonly deletedClientsCount: number }>
  /** Lists a page of the workspace's agents (section 4.16); only the second list may contain starred agents. */
  searchAgents(
    given?: SearchArguments,
    options?: CallOptions,
  ): Promise<Listed<{ readonly agents?: readonly Agent[]; readonly starredAgents?: readonly Agent[] }>>
  /** Waits for running requests; requests made later throw INTERRUPTED. May be called repeatedly. */
  close(): Promise<void>
}

/** @throws ConvohouseError CONFIG_INVALID or TOKEN_MISSING for an address or a token that cannot be used */
export function createApiClient(options: VendorClientOptions): ApiClient {
  const caller = createCaller(options)
  const methodOf =
    (operation: Operation) =>
    async (given: Arguments = {}, { signal }: CallOptions = {}): Promise<unknown> => {
      const target = operationTarget(caller.address, operation, given)
      const control = { target, hints: HINTS[operation.effect], ...(signal && { signal }) }
      // The bytes of an export have been billed, so its errors keep them.
      const keepsBody = operation.effect === 'bills'
      if (given.format === 'csv')
        return (await caller.run({ ...control, accept: 'text/csv', keepsBody, read: readCsvAnswer })).body.toString()
      const check = (parsed: unknown) => checkEnvelope(operation, parsed)
      return caller.run({
        ...control,
        accept: JSON_TYPE,
        keepsBody,
        read: (sent, asked) => readJsonAnswer(sent, asked, check),
      })
    }
  const methods = Object.fromEntries(OPERATIONS.map(operation => [operation.name, methodOf(operation)]))
  // The types are those of the API document; the tests call each method.
  return { ...methods, close: caller.close } as unknown as ApiClient
}

const TYPES = { list: z.array(z.unknown()), record: z.looseObject({}), count: z.number() }

/** Throws unless the answer has the documented keys; of alternatives, one is enough. */
function checkEnvelope({ name, envelope }: Operation, parsed: unknown): void {
  const keys = Object.entries(envelope)
  const isAlone = keys.length === 1
  const fields = keys.map(([key, type]) => [key, isAlone ? TYPES[type] : TYPES[type].nullish()])
  const schema = z.looseObject({ success: z.literal(true).nullish(), ...Object.fromEntries(fields) })
  const isAny = (answer: Record<string, unknown>) => keys.length === 0 || keys.some(([key]) => answer[key] != null)
  parseOrFault(schema.refine(isAny, `it has neither ${Object.keys(envelope).join(' nor ')}`), parsed, name)
}

type Hints = NonNullable<RequestContext['hints']>

const READ_HINTS: Hints = {
  API_FORBIDDEN: 'Check that the token is of this workspace, and that the workspace may do this.',
  API_NOT_FOUND: 'Check the ids and the API address.',
  API_BAD_REQUEST: 'Correct what the message names.',
  API_UNAVAILABLE: 'Try again later.',
  API_TIMEOUT: 'Try again later; a longer timeout gives slow answers more time.',
}

const UNCERTAIN = 'The vendor may have carried out the request: look at the result before you repeat it.'

const WRITE_HINTS: Hints = {
  ...READ_HINTS,
  API_UNAVAILABLE: UNCERTAIN,
  API_TIMEOUT: UNCERTAIN,
  API_NOT_JSON: UNCERTAIN,
  API_PROTOCOL: `Check the API address. ${UNCERTAIN}`,
  INTERRUPTED: UNCERTAIN,
}

const BILLED = 'Conversations that were not received may have been billed.'

const HINTS: Readonly<Record<Effect, Hints>> = {
  reads: READ_HINTS,
  bills: {
    ...READ_HINTS,
    API_FORBIDDEN: 'The export needs a workspace that has paid at least once: check that, and the token.',
    API_UNAVAILABLE: `Try again later. ${BILLED}`,
    API_TIMEOUT: `Try again later, with a longer timeout or a smaller limit. ${BILLED}`,
  },
  writes: WRITE_HINTS,
  deletes: WRITE_HINTS,
}
