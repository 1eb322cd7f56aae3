// The client of a sync: exports and declared resources. Its caller accepts only GETs: a sync changes nothing at the vendor.

import { isById, type Resource } from '../catalog/resources/resource.ts'
import { isCode } from '../core/errors.ts'
import { type ExportQuery, exportTarget, type ReadTarget, resourceQuery, resourceTarget } from './address.ts'
import { type ExportAnswer, type ResourceAnswer, readExportAnswer, readResourceAnswer } from './answers.ts'
import { type Caller, createCaller, JSON_TYPE, type VendorClientOptions } from './caller.ts'
import type { RequestContext } from './faults.ts'
import type { AttemptObserver } from './http/attempts.ts'
import type { Sent } from './http/transport.ts'

interface ExportRequest {
  agentId: string
  query: ExportQuery
  signal?: AbortSignal
  /** Consulted before each attempt and notified after it, because every attempt may cost quota. */
  attempts?: AttemptObserver
}

interface ResourceRequest {
  resource: Resource
  workspaceId: string
  /** Ids to request, one for each placeholder of the resource's path except the workspace's. */
  ids?: readonly string[]
  /** The page of a paged listing; counts from 1. */
  page?: number
  /** Page size. Default: the resource's, or 100. */
  limit?: number
  /** Position at which a listing without numbered pages continues. */
  cursor?: number | undefined
  signal?: AbortSignal
}

/**
 * An answer with its query, as sent. `isPaged` is false if the vendor refused every parameter, so that there is no other page.
 */
export type Paged<Answer> = Answer & { isPaged: boolean; query: Readonly<Record<string, string>> }

/**
 * All methods throw VendorError: API_UNAUTHORIZED, API_FORBIDDEN, API_NOT_FOUND, API_BAD_REQUEST, API_PROTOCOL and API_RATE_LIMITED
 * at once; API_UNAVAILABLE, API_TIMEOUT and API_NOT_JSON after the last attempt; INTERRUPTED when the signal fires; HOUR_SPENT if
 * not even the first attempt was allowed. `facts` contain `path`, `agentId` and `attempts`; after an answer also `status`,
 * `retryAfterMs`, `serverDateMs` and `vendorCode`; and for a body that is not JSON also `bodyBytes`, `bodySha256` and `contentType`.
 */
export interface VendorClient {
  /** Exports one page, or one selection, of an agent's conversations (section 4.12). */
  exportConversations(request: ExportRequest): Promise<ExportAnswer>
  /** Requests one answer, or one page, of a declared resource, without its secrets. */
  resource(request: ResourceRequest): Promise<Paged<ResourceAnswer>>
  /** Waits for running requests; requests made later throw INTERRUPTED. May be called repeatedly. */
  close(): Promise<void>
}

/** @throws ConvohouseError CONFIG_INVALID or TOKEN_MISSING for an address or a token that cannot be used */
export function createVendorClient(options: VendorClientOptions): VendorClient {
  const call: Caller<ReadTarget> = createCaller(options)
  const { address } = call
  return {
    async exportConversations({ agentId, query, ...control }) {
      const target = exportTarget({ address, agentId, query })
      const selected = query.convoIds !== undefined
      const read = (sent: Sent, asked: RequestContext) => readExportAnswer(sent, asked, selected)
      // Each attempt may be billed.
      return call.run({ target, accept: JSON_TYPE, keepsBody: true, read, repeatsSent: 1, ...control })
    },
    async resource({
      resource,
      workspaceId,
      ids = [],
      page = 1,
      limit = resource.pageLimit ?? 100,
      cursor,
      ...control
    }) {
      const ask = async (paged: boolean) => {
        const at = { workspaceId, page, limit, ...(cursor !== undefined && { cursor }) }
        const query = resourceQuery(resource, paged ? at : undefined)
        const target = resourceTarget({ address, resource, workspaceId, ids, query })
        const read = (sent: Sent, asked: RequestContext) => readResourceAnswer({ resource, ids }, sent, asked)
        const attempts = isById(resource) ? { maxAttempts: 1 } : {}
        const answer = await call.run({ target, accept: JSON_TYPE, keepsBody: false, read, ...attempts, ...control })
        return {
          ...answer,
          query: Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)])),
        }
      }
      return typeof resource.paging === 'function' ? askPaged(page, ask) : { ...(await ask(false)), isPaged: false }
    },
    close: call.close,
  }
}

/** Requests a page of a listing. The API document shows no paging parameters: a refused first page is requested without them. */
export async function askPaged<T extends object>(
  page: number,
  ask: (isPaged: boolean) => Promise<T>,
): Promise<T & { isPaged: boolean }> {
  try {
    return { ...(await ask(true)), isPaged: true }
  } catch (error) {
    if (page > 1 || !isCode(error, 'API_BAD_REQUEST')) throw error
    return { ...(await ask(false)), isPaged: false }
  }
}
