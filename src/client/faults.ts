// Builds the error of a failed request: what happened, where, and a hint. Includes the vendor's message redacted and
// truncated, but never the body, the token and messages of libraries.

import { createHash } from 'node:crypto'
import { ConvohouseError, type ErrorCode, type ErrorParts, isCode } from '../core/errors.ts'
import type { HttpProxy } from '../core/proxy.ts'
import { durationText } from '../core/time.ts'
import { parseBody } from '../json/body.ts'
import type { Target } from './address.ts'
import { isVendorsError, readErrorEnvelope } from './envelopes.ts'
import type { Exchange } from './exchange.ts'
import { MAX_HEADER_BYTES } from './http/connections.ts'
import type { Breakdown } from './http/transport.ts'
import { withoutSecretsInMessage } from './redaction/secret-values.ts'
import { failedWithoutToken, textWithoutToken } from './redaction/token-mask.ts'

interface VendorErrorParts extends ErrorParts {
  exchange?: Exchange | undefined
  issues?: readonly string[] | undefined
}

/** An error about a request to the vendor. */
export class VendorError extends ConvohouseError {
  readonly #exchange: Exchange | undefined
  /** The vendor's messages about single problems (`issues`, section 7), without secrets, each truncated to 200 characters. */
  readonly issues: readonly string[]

  constructor(code: ErrorCode, parts: VendorErrorParts) {
    super(code, parts)
    this.#exchange = parts.exchange
    this.issues = parts.issues ?? []
  }

  /** The response of an export: its bytes cost quota and may be kept. A getter, so that no logger prints it. */
  get exchange(): Exchange | undefined {
    return this.#exchange
  }
}

/** The facts about one attempt that its errors describe. */
export interface RequestContext {
  target: Target
  /** Scheme, host and port. */
  origin: string
  /** The proxy between; null for none. */
  proxy?: HttpProxy | null
  /** Timeout from connecting to the last byte. */
  timeoutMs: number
  /** Counts from 1. */
  attempt: number
  /** The current token and the previous one: answers may echo either. */
  tokens: readonly string[]
  /** False if the body may contain secrets, so that no error may contain it. */
  keepsBody: boolean
  /** Hints that replace those below, for requests that may have reached the vendor. */
  hints?: Partial<Record<VendorCode, string>>
}

const VENDOR_TEXT_CHARS = 200
const MOST_ISSUES = 100
/** The rest of a longer text is never shown. */
const READ_CHARS = 4_096

const HINTS = {
  API_UNAUTHORIZED:
    "Check the token of this workspace: it must be the workspace's secret key or an auth token, and still be valid.",
  API_FORBIDDEN:
    'Check that the token is of this workspace, and that the workspace has paid at least once: the export needs it.',
  API_NOT_FOUND: 'Check the agent id and the API address.',
  API_BAD_REQUEST: 'Check the requested ids and times.',
  API_RATE_LIMITED: 'Wait until the hour has passed, or make fewer requests.',
  API_UNAVAILABLE: 'Try again later; landed pages are kept.',
  API_TIMEOUT:
    'Try again later; a longer `timeout`, or a smaller `pageSize`, gives slow answers more time. Landed pages are kept.',
  API_NOT_JSON:
    'Check that the API address is that of the vendor and not of a proxy or login page; else try again later.',
  API_PROTOCOL: 'Check the API address; if it is right, report this to the vendor.',
  INTERRUPTED: 'Run the same command again to continue.',
} as const satisfies Partial<Record<ErrorCode, string>>

type VendorCode = keyof typeof HINTS

/** Returns the error of a request without a response. */
export function unanswered(asked: RequestContext, breakdown: Breakdown): VendorError {
  const { cause, reason, unsent } = breakdown
  if (cause === 'aborted' || cause === 'closed') {
    const words = cause === 'aborted' ? 'was stopped on request' : 'was stopped: the client is closed'
    return fault('INTERRUPTED', asked, { words, ...(unsent && { hint: HINTS.INTERRUPTED }), facts: { reason } })
  }
  const facts = { reason, ...(unsent && { unsent }) }
  if (breakdown.isOfProxy && asked.proxy) return failedProxy(asked, asked.proxy, { reason, facts })
  if (cause === 'timeout') return late(asked, breakdown)
  if (reason === 'UND_ERR_HEADERS_OVERFLOW') {
    const words = `was answered with headers of more than ${MAX_HEADER_BYTES / 1024} KB`
    return fault('API_PROTOCOL', asked, { words, facts })
  }
  const { words, hint } = describeConnectionFailure(reason)
  const what = `${hostOf(asked)} ${words}${through(asked)} (${requestOf(asked)}, ${reason})`
  const own = unsent ? undefined : asked.hints?.API_UNAVAILABLE
  return fault('API_UNAVAILABLE', asked, { what, hint: own ?? withAddress(hint, asked), facts })
}

const through = ({ proxy }: RequestContext): string =>
  proxy ? `, through the proxy ${proxy.origin} (${proxy.variable})` : ''

/** Returns the error of a request that did not get past the proxy. */
function failedProxy(
  asked: RequestContext,
  { origin, variable }: HttpProxy,
  { reason, facts }: { reason: string; facts: NonNullable<ErrorParts['facts']> },
): VendorError {
  const [, status] = /^PROXY_(\d+)$/.exec(reason) ?? []
  const failed = status ? `answered ${status} instead of connecting` : describeConnectionFailure(reason).words
  const what = `The proxy ${origin} (${variable}) ${failed} (${requestOf(asked)} of ${hostOf(asked)}, ${reason})`
  const hint =
    status === '407'
      ? `Give a user and a password that the proxy accepts in ${variable}, as in http://user:password@proxy.example.com:3128; nothing was sent.`
      : `Check the address in ${variable}; NO_PROXY lists hosts that are reached without the proxy. Nothing was sent.`
  return fault('API_UNAVAILABLE', asked, { what, hint, facts })
}

/** Returns the error of a timeout while connecting or while waiting for the response. */
function late(asked: RequestContext, { reason, unsent }: Breakdown): VendorError {
  const within = `within ${durationText(asked.timeoutMs)}`
  if (!unsent)
    return fault('API_TIMEOUT', asked, { words: `was not answered ${within} (\`timeout\`)`, facts: { reason } })
  const what = `${hostOf(asked)} did not accept a connection ${within}${through(asked)} (${requestOf(asked)})`
  const hint = "Check host and port of `apiUrl`, and this machine's network and firewall; nothing was sent."
  return fault('API_TIMEOUT', asked, { what, hint: withAddress(hint, asked), facts: { reason, unsent: true } })
}

const requestOf = ({ target }: RequestContext): string => `${target.method} ${target.path}`

const hostOf = ({ origin }: RequestContext): string => new URL(origin).host

/** Adds the address after the first mention of `apiUrl`. */
const withAddress = (hint: string, { origin }: RequestContext): string =>
  hint.replace('`apiUrl`', `\`apiUrl\` (${origin})`)

/** Returns the error of a 2xx whose body is incomplete, too large or compressed. */
export function broken(asked: RequestContext, exchange: Exchange, { cause, reason }: Breakdown): VendorError {
  const got = `${exchange.body.length} bytes`
  const words = {
    aborted: `was stopped on request after ${got}`,
    closed: `was stopped after ${got}: the client is closed`,
    timeout: `was not answered completely within ${durationText(asked.timeoutMs)} (\`timeout\`; ${got} received)`,
    network: `was cut off after ${got} (${reason})`,
    'too-large': `was answered with ${reason}`,
    encoded: `was answered with a body that cannot be decoded (Content-Encoding: ${clean(exchange.contentEncoding ?? '', asked.tokens)})`,
  }[cause]
  const code = cause === 'too-large' || cause === 'encoded' ? 'API_PROTOCOL' : codeOf(cause, 'API_NOT_JSON')
  return fault(code, asked, { words, exchange, facts: { reason } })
}

/** Returns the error of a status other than 2xx. */
export function refused(asked: RequestContext, exchange: Exchange): VendorError {
  const parsed = parseBody(exchange.body)?.value
  const { message, code, issues } = readErrorEnvelope(parsed)
  const said = clean([...new Set([message, ...issues])].filter(Boolean).join('; '), asked.tokens)
  const facts = code === null ? {} : { vendorCode: clean(code, asked.tokens) }
  const elsewhere = exchange.status === 404 && !isVendorsError(parsed)
  const by = elsewhere ? " without the vendor's error body: probably from a proxy or a wrong address" : ''
  const words = `was answered with ${exchange.status}${by}${said === '' ? '' : `: "${said}"`}`
  // Only a 404 with the vendor's error body means that the agent is gone.
  return fault(elsewhere ? 'API_PROTOCOL' : codeOfStatus(exchange.status), asked, {
    words,
    exchange,
    facts,
    issues: issues.slice(0, MOST_ISSUES).map(issue => clean(issue, asked.tokens)),
  })
}

/** Returns the error of a 2xx whose body is not in the requested format. */
export function unreadable(asked: RequestContext, exchange: Exchange, what: string): VendorError {
  return fault('API_NOT_JSON', asked, { words: `was answered with ${what}`, exchange })
}

/** Returns the error of a 2xx whose JSON has an undocumented shape; `problem` is the envelope reader's error. */
export function undocumented(asked: RequestContext, exchange: Exchange, problem: unknown): unknown {
  if (!isCode(problem, 'API_PROTOCOL')) return problem
  const said = clean(readErrorEnvelope(parseBody(exchange.body)?.value).message ?? '', asked.tokens)
  const words = `was answered, but: ${problem.message}${said === '' ? '' : ` (the vendor says "${said}")`}`
  return fault('API_PROTOCOL', asked, { words, exchange })
}

/** Returns the error of a request that the attempt observer did not allow; nothing was sent. */
export function notAllowed(asked: RequestContext): VendorError {
  return new VendorError('HOUR_SPENT', {
    what: `${asked.target.shown} was not sent: its lease has no requests left`,
    hint: 'Wait until the hour has passed, or allow more requests.',
    facts: identity(asked),
  })
}

interface FaultParts {
  /** Words after the request in the message. */
  words?: string
  /** The complete message, instead of the request and `words`. */
  what?: string
  hint?: string
  exchange?: Exchange
  issues?: readonly string[]
  facts?: NonNullable<ErrorParts['facts']>
}

function fault(code: VendorCode, asked: RequestContext, parts: FaultParts): VendorError {
  const {
    words,
    what = `${asked.target.shown} ${words}`,
    hint = asked.hints?.[code] ?? HINTS[code],
    exchange: came,
    facts,
  } = parts
  const exchange = came && { ...came, body: maskedBody(came, asked.tokens) }
  return new VendorError(code, {
    what: textWithoutToken(what, asked.tokens),
    hint,
    facts: { ...identity(asked), ...(exchange && answerFacts(exchange, asked.tokens)), ...facts },
    exchange: asked.keepsBody ? exchange : undefined,
    issues: parts.issues,
  })
}

const maskedBody = ({ body, contentEncoding: encoding }: Exchange, tokens: readonly string[]): Buffer =>
  failedWithoutToken(body, { tokens, encoding })

function identity({ target, attempt, tokens }: RequestContext): Record<string, string | number> {
  const agent = target.agentId === undefined ? {} : { agentId: textWithoutToken(target.agentId, tokens) }
  return { path: textWithoutToken(target.path, tokens), ...agent, attempts: attempt }
}

function answerFacts(exchange: Exchange, tokens: readonly string[]): Record<string, string | number> {
  const { status, retryAfterMs, serverDateMs, body } = exchange
  return {
    status,
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
    ...(serverDateMs === null ? {} : { serverDateMs }),
    ...(parseBody(body) ? {} : unreadableFacts(exchange, tokens)),
  }
}

/** Returns facts that identify a body that is not JSON, without quoting the body. */
function unreadableFacts({ body, contentType }: Exchange, tokens: readonly string[]): Record<string, string | number> {
  const sha256 = createHash('sha256').update(body).digest('hex')
  return { bodyBytes: body.length, bodySha256: sha256, contentType: clean(contentType ?? 'none', tokens) }
}

/** Returns the vendor's message without token, secrets and control characters (which a terminal would obey), truncated. */
function clean(text: string, tokens: readonly string[]): string {
  const shown = withoutSecretsInMessage(textWithoutToken(text, tokens).slice(0, READ_CHARS))
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
  return shown.length <= VENDOR_TEXT_CHARS ? shown : `${shown.slice(0, VENDOR_TEXT_CHARS - 1)}…`
}

function codeOf(cause: Breakdown['cause'], otherwise: VendorCode): VendorCode {
  if (cause === 'aborted' || cause === 'closed') return 'INTERRUPTED'
  return cause === 'timeout' ? 'API_TIMEOUT' : otherwise
}

const STATUS_CODES: Record<number, VendorCode> = {
  401: 'API_UNAUTHORIZED',
  402: 'API_FORBIDDEN',
  403: 'API_FORBIDDEN',
  404: 'API_NOT_FOUND',
  408: 'API_TIMEOUT',
  425: 'API_UNAVAILABLE',
  429: 'API_RATE_LIMITED',
}

function codeOfStatus(status: number): VendorCode {
  if (status >= 500) return 'API_UNAVAILABLE'
  // Redirects are not followed: a 3xx means a wrong address.
  return STATUS_CODES[status] ?? (status >= 400 ? 'API_BAD_REQUEST' : 'API_PROTOCOL')
}

// A failed connection, by error code.

interface ConnectionFailure {
  /** Completes the sentence after the host name: `refused the connection`. */
  words: string
  hint: string
}

const TRY_LATER = 'Try again later; landed pages are kept.'

/** The message names the code, which says what is wrong with the certificate. */
const certificate: ConnectionFailure = {
  words: 'presented a TLS certificate that this machine does not accept; nothing was sent',
  hint: "Check that `apiUrl` names the vendor and not a proxy, and this machine's clock. If your network uses a TLS-inspecting proxy, save its CA certificate to a file and set NODE_EXTRA_CA_CERTS to the path of that file.",
}
const noTls: ConnectionFailure = {
  words: 'does not speak TLS; nothing was sent',
  hint: 'Check `apiUrl`: if the server uses plain HTTP, the address must begin with http://; otherwise the port is wrong.',
}
const cutOff: ConnectionFailure = { words: 'closed the connection before it answered', hint: TRY_LATER }
const noHttp: ConnectionFailure = {
  words: 'answers, but does not speak HTTP',
  hint: 'Check `apiUrl`: if the server uses TLS, the address must begin with https://; otherwise the port is wrong.',
}
const unknownHost: ConnectionFailure = {
  words: 'cannot be resolved: there is no such host name',
  hint: "Check the spelling of `apiUrl`, and this machine's DNS and network; nothing was sent.",
}
const noRoute: ConnectionFailure = {
  words: 'cannot be reached from here: there is no route to it',
  hint: "Check `apiUrl`, and this machine's network, VPN and firewall; nothing was sent.",
}

const TROUBLES: Record<string, ConnectionFailure> = {
  ECONNREFUSED: {
    words: 'refused the connection',
    hint: 'Check host and port of `apiUrl`: nothing listens there, or a firewall blocks it; nothing was sent.',
  },
  ENOTFOUND: unknownHost,
  EAI_AGAIN: {
    words: 'cannot be resolved at the moment: DNS does not answer',
    hint: "Check this machine's DNS and network, and the spelling of `apiUrl`; nothing was sent.",
  },
  EHOSTUNREACH: noRoute,
  ENETUNREACH: noRoute,
  EPROTO: noTls,
  ECONNRESET: cutOff,
  EPIPE: cutOff,
  UND_ERR_SOCKET: cutOff,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: noHttp,
}

/** Describes a failed connection. `reason`: error code, such as ECONNREFUSED. */
function describeConnectionFailure(reason: string): ConnectionFailure {
  const known = TROUBLES[reason]
  if (known) return known
  if (/CERT|ISSUER|SIGNATURE/.test(reason)) return certificate
  if (reason.startsWith('ERR_SSL_') || reason.startsWith('ERR_TLS_')) return noTls
  if (reason.startsWith('HPE_') || reason === 'HTTPParserError') return noHttp
  return { words: 'could not be reached', hint: 'If `apiUrl` has never worked, check it; otherwise try again later.' }
}
