// Reads the result of an attempt: returns the expected answer or throws its error.

import { isTooDeepAround } from '../catalog/inspection/inspect.ts'
import { isById, type Resource } from '../catalog/resources/resource.ts'
import { describeNonJson, type JsonBody, parseBody } from '../json/body.ts'
import { readExactly, TooDeep } from '../json/exact-json.ts'
import {
  type ExportEnvelope,
  isVendorsError,
  type ResourceEnvelope,
  readExportEnvelope,
  readResourceEnvelope,
} from './envelopes.ts'
import { type Exchange, type Receipt, receiptOf } from './exchange.ts'
import { broken, type RequestContext, refused, unanswered, undocumented, unreadable } from './faults.ts'
import type { Sent } from './http/transport.ts'
import { redactSecrets } from './redaction/redaction.ts'
import { pageWithoutToken } from './redaction/token-mask.ts'

export interface ExportAnswer {
  exchange: Exchange
  /** True if some bytes of the body are not UTF-8. Parsed texts have U+FFFD in their place; `exchange.body` is unchanged. */
  invalidUtf8: boolean
  /** True if the envelope, apart from the records, is nested too deeply for DuckDB. */
  isTooDeepAround: boolean
  envelope: ExportEnvelope
}

/** An answer without its body, which may contain secrets. */
interface RedactedAnswer<Envelope> {
  receipt: Receipt
  /** The complete answer without its secrets, ready to land with `writeExactly`. */
  parsed: unknown
  droppedPaths: string[]
  envelope: Envelope
}

/** `envelope` is null if the vendor does not have the requested id. */
export type ResourceAnswer = RedactedAnswer<ResourceEnvelope | null>

export function readExportAnswer(sent: Sent, asked: RequestContext, selected: boolean): ExportAnswer {
  const exchange = requireComplete(sent, asked)
  const { value, invalidUtf8 } = requireJson(exchange, asked)
  return {
    exchange,
    invalidUtf8,
    isTooDeepAround: isTooDeepAround(value, 'data'),
    envelope: documented(exchange, asked, () => readExportEnvelope(value, { selected })),
  }
}

/** Parses the body and keeps every digit of its numbers; undefined if it is nested too deeply. */
function exactValue(body: Buffer): unknown {
  try {
    return readExactly(new TextDecoder().decode(body)).value
  } catch (error) {
    if (error instanceof TooDeep) return undefined
    throw error
  }
}

/** Reads an answer by id. A 404 with the vendor's error body (section 7) counts; a 404 of a proxy or a wrong address throws. */
export function readResourceAnswer(
  { resource, ids }: { resource: Resource; ids: readonly string[] },
  sent: Sent,
  asked: RequestContext,
): ResourceAnswer {
  const { exchange, breakdown } = sent
  if (!isById(resource) || exchange?.status !== 404 || breakdown) {
    const prepare = (answer: unknown) => resource.prepare?.(answer, ids) ?? answer
    return redacted(requireComplete(sent, asked), asked, {
      prepare,
      read: parsed => readResourceEnvelope(resource, parsed),
    })
  }
  if (!isVendorsError(parseBody(exchange.body)?.value)) throw refused(asked, exchange)
  return redacted(withoutToken(exchange, asked), asked, { prepare: answer => answer, read: () => null })
}

/** A number that a double may not represent exactly. Its digits must be kept, because the parsed answer lands and not the body. */
const MANY_DIGITS = /\d{16}/

function redacted<E>(
  exchange: Exchange,
  asked: RequestContext,
  { prepare, read }: { prepare: (answer: unknown) => unknown; read: (parsed: unknown) => E },
): RedactedAnswer<E> {
  const json = redactSecrets(requireJson(exchange, asked).value)
  const envelope = documented(exchange, asked, () => read(prepare(json.value)))
  const exact = MANY_DIGITS.test(exchange.body.toString('latin1')) ? exactValue(exchange.body) : undefined
  const { value, droppedPaths: dropped } = exact === undefined ? json : redactSecrets(exact)
  const droppedPaths = [...maskedPaths(exchange), ...dropped]
  return { receipt: receiptOf(exchange), parsed: prepare(value), droppedPaths, envelope }
}

/** Returns the JSON of an answer that `check` accepts. It contains secrets, but not the token. */
export function readJsonAnswer(sent: Sent, asked: RequestContext, check: (parsed: unknown) => void): unknown {
  const exchange = requireComplete(sent, asked)
  const { value } = requireJson(exchange, asked)
  documented(exchange, asked, () => check(value))
  return value
}

export function readCsvAnswer(sent: Sent, asked: RequestContext): Exchange {
  const exchange = requireComplete(sent, asked)
  if (/html/i.test(exchange.contentType ?? '')) throw unreadable(asked, exchange, 'a web page instead of CSV')
  return exchange
}

function requireComplete(sent: Sent, asked: RequestContext): Exchange {
  const { exchange, breakdown } = sent
  if (exchange === null) throw unanswered(asked, breakdown)
  const stopped = breakdown?.cause === 'aborted' || breakdown?.cause === 'closed'
  // An error status decides, even if the body is incomplete.
  if (!stopped && (exchange.status < 200 || exchange.status > 299)) throw refused(asked, exchange)
  const isCutOff = breakdown?.cause === 'network' || breakdown?.cause === 'timeout'
  if (breakdown && !(isCutOff && isWholeObject(exchange))) throw broken(asked, exchange, breakdown)
  return withoutToken(exchange, asked)
}

/** No part of a JSON object is itself one. So a page that was paid for counts, although its connection did not end as announced. */
function isWholeObject({ body }: Exchange): boolean {
  const value = parseBody(body)?.value
  return typeof value === 'object' && value !== null
}

/** Masks the token, which an echo of the request may contain. */
function withoutToken(exchange: Exchange, { tokens }: RequestContext): Exchange {
  const { bytes, count } = pageWithoutToken(exchange.body, tokens)
  return count === 0 ? exchange : { ...exchange, body: bytes, tokensMasked: count }
}

/** The path under which `_issues` reports an echoed token. */
const TOKEN_PATH = '(API token)'

/** One path per masked token. */
export const maskedPaths = ({ tokensMasked = 0 }: Exchange): string[] => Array<string>(tokensMasked).fill(TOKEN_PATH)

function requireJson(exchange: Exchange, asked: RequestContext): JsonBody {
  const json = parseBody(exchange.body)
  if (!json) throw unreadable(asked, exchange, describeNonJson(exchange.body))
  return json
}

function documented<T>(exchange: Exchange, asked: RequestContext, read: () => T): T {
  try {
    return read()
  } catch (problem) {
    throw undocumented(asked, exchange, problem)
  }
}
