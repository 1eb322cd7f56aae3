// Sends a client's requests to the vendor's API: attempts, retries of transient failures, typed errors. A 429 is not
// retried here, since the governor decides when to send again.

import { setMaxListeners } from 'node:events'
import { setTimeout as sleepFor } from 'node:timers/promises'
import { ConvohouseError } from '../core/errors.ts'
import type { HttpProxy } from '../core/proxy.ts'
import { Slots } from '../core/slots.ts'
import { SECOND } from '../core/time.ts'
import { type ApiAddress, readApiAddress, type Target } from './address.ts'
import { notAllowed, type RequestContext, unanswered } from './faults.ts'
import { type AttemptObserver, type AttemptPolicy, runAttempts } from './http/attempts.ts'
import { createTransport, type Sent, type Transport } from './http/transport.ts'

export interface VendorClientOptions {
  /** Base URL, in any form that `readApiAddress` accepts. */
  apiUrl: string
  /** The token itself, not the name of its variable or file. */
  token: string
  /** Reads the token's source again after a 401; omitted if the token never changes. */
  rereadToken?: () => string
  /** The HTTP proxy through which the API is reached. Default: none. */
  proxy?: HttpProxy | null
  /** Timeout of an attempt, from connecting to the last byte. Default: 120 s. */
  timeoutMs?: number
  /** Default: 4. */
  maxAttempts?: number
  /** Maximum number of concurrent requests; further ones wait. Default: 16. */
  connections?: number
  /** Default: 256 MB. */
  maxBodyBytes?: number
  random?: () => number
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
  now?: () => number
  /** Sends the requests instead of HTTP connections; the transport must then handle the token itself. */
  transport?: Transport
}

interface Call<T> {
  target: Target
  accept: string
  keepsBody: boolean
  read: (sent: Sent, asked: RequestContext) => T
  /** Default: the client's `maxAttempts`. */
  maxAttempts?: number
  /** Number of attempts of a GET that may be repeated although they reached the vendor. Default: all. */
  repeatsSent?: number
  /** Advice in place of the usual hints of a code. */
  hints?: RequestContext['hints']
  signal?: AbortSignal
  attempts?: AttemptObserver
}

/** Makes requests of the type `Accepted`. */
export interface Caller<Accepted extends Target = Target> {
  readonly address: ApiAddress
  /** @throws VendorError */
  run<T>(call: Call<T> & { target: Accepted }): Promise<T>
  /** Waits for running requests; requests made later throw INTERRUPTED. May be called repeatedly. */
  close(): Promise<void>
}

export const JSON_TYPE = 'application/json'

/** @throws ConvohouseError CONFIG_INVALID or TOKEN_MISSING for an address or a token that cannot be used */
export function createCaller(options: VendorClientOptions): Caller {
  const address = readApiAddress(options.apiUrl)
  const { connections = 16, timeoutMs = 120 * SECOND, proxy = null } = options
  let tokens = [options.transport ? options.token : requireToken(options.token)]
  const transport =
    options.transport ??
    createTransport({
      origin: address.origin,
      proxy,
      timeoutMs,
      connections,
      maxBodyBytes: options.maxBodyBytes ?? 256 * 1024 * 1024,
      now: options.now ?? Date.now,
    })
  const policy: AttemptPolicy = {
    maxAttempts: options.maxAttempts ?? 4,
    random: options.random ?? Math.random,
    sleep: options.sleep ?? ((ms, signal) => sleepFor(ms, undefined, signal && { signal })),
    slots: new Slots(connections),
  }
  /** True if a token other than the refused one is known, or is in the token's source. */
  function isRenewed(refused: string): boolean {
    try {
      const read = requireToken(options.rereadToken!())
      if (read !== tokens[0]) tokens = [read, ...tokens.slice(0, 1)]
    } catch {
      // A source that cannot be read now has no other token.
    }
    return tokens[0] !== refused
  }

  return {
    address,
    run<T>(call: Call<T>): Promise<T> {
      const { target, accept, keepsBody, read, hints, signal, attempts: observer } = call
      const { repeatsSent = Number.POSITIVE_INFINITY, maxAttempts = policy.maxAttempts } = call
      // Every running request adds a listener and removes it at its end, so more than ten are not a leak.
      if (signal) setMaxListeners(0, signal)
      const context = { origin: address.origin, proxy, timeoutMs, target, keepsBody, ...(hints && { hints }) }
      const asked = (attempt: number): RequestContext => ({ ...context, tokens, attempt })
      let sentToken = ''
      let renews = 0
      return runAttempts<T>(
        { ...policy, maxAttempts },
        {
          send(allowed) {
            sentToken = tokens[0]!
            return transport.send(target, { accept, token: sentToken, signal, allowed })
          },
          read: (sent, attempt) => read(sent, asked(attempt)),
          unsent: (attempt, why) =>
            why === 'stopped'
              ? unanswered(asked(attempt - 1), { cause: 'aborted', reason: 'aborted', unsent: true })
              : notAllowed(asked(attempt - 1)),
          renews: () => options.rereadToken !== undefined && ++renews === 1 && isRenewed(sentToken),
          // A write that may have reached the vendor is not repeated: it could be carried out twice.
          repeatsSent: target.method === 'GET' ? repeatsSent : 0,
          observer,
          signal,
        },
      )
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
  if (/^[!#-&(-[\]-~]+$/.test(token)) return token
  throw new ConvohouseError('CONFIG_INVALID', {
    what: 'The API token contains a blank, a line break, a quote, a backslash or a character beyond ASCII',
    hint: 'Copy the token again, without quotes and without a line break at its end.',
  })
}
