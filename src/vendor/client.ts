// The client of the vendor's API: typed answers, typed errors, retries of transient failures. A 429 is not retried here: the governor
// decides when to send again.

import { setMaxListeners } from 'node:events'
import { setTimeout as sleepFor } from 'node:timers/promises'
import { isById, type Resource } from '../catalog/resources/resource.ts'
import { ConvohouseError, isCode } from '../core/errors.ts'
import { SECOND } from '../core/time.ts'
import { type ExportQuery, exportTarget, readApiAddress, resourceTarget, type Target } from './address.ts'
import {
  type ExportAnswer,
  type ResourceAnswer,
  readCsvAnswer,
  readExportAnswer,
  readResourceAnswer,
} from './answers.ts'
import type { Exchange } from './exchange.ts'
import { notAllowed, type RequestContext, unanswered } from './faults.ts'
import { type AttemptObserver, type AttemptPolicy, runAttempts } from './http/attempts.ts'
import { Slots } from './http/slots.ts'
import { createTransport, type Sent, type Transport } from './http/transport.ts'

export interface VendorClientOptions {
  /** Base URL, in any form that `readApiAddress` accepts. */
  apiUrl: string
  /** The token itself, not the name of its variable or file. */
  token: string
  /** Timeout of the headers, and again of the body. Default: 60 s. */
  timeoutMs?: number
  /** Default: 4. */
  maxAttempts?: number
  /** Concurrent requests; further ones wait. Default: 16. */
  connections?: number
  /** Default: 256 MB. */
  maxBodyBytes?: number
  userAgent?: string
  random?: () => number
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
  now?: () => number
}

interface ExportRequest {
  agentId: string
  query: ExportQuery
  signal?: AbortSignal
  /** Consulted before and notified after each attempt, because every attempt may cost quota. */
  attempts?: AttemptObserver
}

interface ResourceRequest {
  resource: Resource
  workspaceId: string
  /** The id to request; given where the resource's path contains a placeholder. */
  id?: string
  /** The page of a paged listing; counts from 1. */
  page?: number
  /** Page size, 1 to 100. Default: 100. */
  limit?: number
  signal?: AbortSignal
}

/** An answer with `isPaged`: false where the vendor refused every parameter, so that no other page can be requested. */
export type Paged<Answer> = Answer & { isPaged: boolean }

/**
 * All methods throw VendorError: API_UNAUTHORIZED, API_FORBIDDEN, API_NOT_FOUND, API_BAD_REQUEST, API_PROTOCOL and API_RATE_LIMITED
 * at once; API_UNAVAILABLE, API_TIMEOUT and API_NOT_JSON after the last attempt; INTERRUPTED when the signal fires; HOUR_SPENT when not
 * even the first attempt was allowed. `facts` contain `path`, `agentId` and `attempts`; after an answer also `status`, `retryAfterMs`,
 * `serverDateMs` and `vendorCode`; and for a body that is not JSON also `bodyBytes`, `bodySha256` and `contentType`.
 */
export interface VendorClient {
  /** One page, or one selection, of an agent's conversations (section 4.12). */
  exportConversations(request: ExportRequest): Promise<ExportAnswer>
  /** The same conversations as CSV; the response is returned unparsed. */
  exportCsv(request: ExportRequest): Promise<Exchange>
  /** One answer, or one page, of a declared resource, without its secrets. */
  resource(request: ResourceRequest): Promise<Paged<ResourceAnswer>>
  /** Waits for running requests; requests made later throw INTERRUPTED. May be called repeatedly. */
  close(): Promise<void>
}

/** @throws ConvohouseError CONFIG_INVALID or TOKEN_MISSING for an address or a token that cannot be used */
export function createVendorClient(options: VendorClientOptions): VendorClient {
  const address = readApiAddress(options.apiUrl)
  const connections = options.connections ?? 16
  const { timeoutMs = 60 * SECOND } = options
  const call = createCaller({
    token: options.token,
    origin: address.origin,
    timeoutMs,
    transport: createTransport({
      origin: address.origin,
      token: requireToken(options.token),
      userAgent: options.userAgent ?? 'convohouse',
      timeoutMs,
      connections,
      maxBodyBytes: options.maxBodyBytes ?? 256 * 1024 * 1024,
      now: options.now ?? Date.now,
    }),
    policy: {
      maxAttempts: options.maxAttempts ?? 4,
      random: options.random ?? Math.random,
      sleep: options.sleep ?? ((ms, signal) => sleepFor(ms, undefined, signal && { signal })),
      slots: new Slots(connections),
    },
  })
  return {
    async exportConversations({ agentId, query, ...control }) {
      const target = exportTarget({ address, agentId, query })
      const selected = query.convoIds !== undefined
      const read = (sent: Sent, asked: RequestContext) => readExportAnswer(sent, asked, selected)
      return call.run({ target, accept: JSON_TYPE, keepsBody: true, read, ...control })
    },
    async exportCsv({ agentId, query, ...control }) {
      const target = exportTarget({ address, agentId, query, format: 'csv' })
      return call.run({ target, accept: 'text/csv', keepsBody: true, read: readCsvAnswer, ...control })
    },
    async resource({ resource, workspaceId, id, page = 1, limit = 100, ...control }) {
      const ask = (paged: boolean) => {
        const target = resourceTarget({ address, resource, id, ...(paged && { page: { workspaceId, page, limit } }) })
        const read = (sent: Sent, asked: RequestContext) => readResourceAnswer(resource, sent, asked)
        const attempts = isById(resource) ? { maxAttempts: 1 } : {}
        return call.run({ target, accept: JSON_TYPE, keepsBody: false, read, ...attempts, ...control })
      }
      return typeof resource.paging === 'function' ? askPaged(page, ask) : { ...(await ask(false)), isPaged: false }
    },
    close: call.close,
  }
}

const JSON_TYPE = 'application/json'

/** Requests a page of a listing. The API document shows no paging parameters: if the first page is refused, it is requested without them. */
async function askPaged<T extends object>(
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

interface Call<T> {
  target: Target
  accept: string
  keepsBody: boolean
  read: (sent: Sent, asked: RequestContext) => T
  /** Default: the client's `maxAttempts`. */
  maxAttempts?: number
  signal?: AbortSignal
  attempts?: AttemptObserver
}

function createCaller({
  transport,
  policy,
  ...context
}: { transport: Transport; policy: AttemptPolicy } & Pick<RequestContext, 'token' | 'origin' | 'timeoutMs'>) {
  return {
    run<T>({ target, accept, keepsBody, read, maxAttempts, signal, attempts: observer }: Call<T>): Promise<T> {
      // Every running request adds a listener and removes it at its end, so more than ten are not a leak.
      if (signal) setMaxListeners(0, signal)
      const asked = (attempt: number): RequestContext => ({ ...context, target, attempt, keepsBody })
      return runAttempts<T>(maxAttempts === undefined ? policy : { ...policy, maxAttempts }, {
        send: () => transport.send(target, { accept, signal }),
        read: (sent, attempt) => read(sent, asked(attempt)),
        unsent: (attempt, why) =>
          why === 'stopped'
            ? unanswered(asked(attempt - 1), { cause: 'aborted', reason: 'aborted' })
            : notAllowed(asked(attempt - 1)),
        observer,
        signal,
      })
    },
    close: () => transport.close(),
  }
}

function requireToken(token: string): string {
  if (token === '') {
    throw new ConvohouseError('TOKEN_MISSING', {
      what: 'The API token is empty',
      hint: "Set the variable or file that contains the token to the workspace's secret key.",
    })
  }
  if (/^[\x21-\x7e]+$/.test(token)) return token
  throw new ConvohouseError('CONFIG_INVALID', {
    what: 'The API token contains a space, a line break or another character that a token cannot contain',
    hint: 'Copy the token again, without quotes and without a line break at its end.',
  })
}
