// Reads what an attempt brought: the answer that was asked for, or the error that it amounts to.

import { type AgentsEnvelope, type ExportEnvelope, readAgentsEnvelope, readExportEnvelope } from './envelopes.ts'
import { type Exchange, type Receipt, receiptOf } from './exchange.ts'
import { type Asked, broken, refused, unanswered, undocumented, unreadable } from './faults.ts'
import { describeNonJson, type JsonBody, parseBody } from './json-body.ts'
import { redactSecrets } from './redaction.ts'
import type { Sent } from './transport.ts'

export interface ExportAnswer {
  exchange: Exchange
  parsed: unknown
  /** Some bytes of the body are no UTF-8: in `parsed` they are U+FFFD, in `exchange.body` as they came. */
  invalidUtf8: boolean
  envelope: ExportEnvelope
}

/** Without the body: agents hold secrets, and here they are dropped already. */
export interface AgentsAnswer {
  receipt: Receipt
  /** The whole answer without its secrets, fit to land. */
  parsed: unknown
  droppedPaths: string[]
  envelope: AgentsEnvelope
}

export function readExportAnswer(sent: Sent, asked: Asked, selected: boolean): ExportAnswer {
  const exchange = requireWhole(sent, asked)
  const { value: parsed, invalidUtf8 } = requireJson(exchange, asked)
  const envelope = documented(exchange, asked, () => readExportEnvelope(parsed, { selected }))
  return { exchange, parsed, invalidUtf8, envelope }
}

export function readAgentsAnswer(sent: Sent, asked: Asked): AgentsAnswer {
  const exchange = requireWhole(sent, asked)
  const { value: parsed, droppedPaths } = redactSecrets(requireJson(exchange, asked).value)
  const envelope = documented(exchange, asked, () => readAgentsEnvelope(parsed))
  return { receipt: receiptOf(exchange), parsed, droppedPaths, envelope }
}

export function readCsvAnswer(sent: Sent, asked: Asked): Exchange {
  const exchange = requireWhole(sent, asked)
  if (/html/i.test(exchange.contentType ?? '')) throw unreadable(asked, exchange, 'a web page instead of CSV')
  return exchange
}

function requireWhole(sent: Sent, asked: Asked): Exchange {
  const { exchange, breakdown } = sent
  if (exchange === null) throw unanswered(asked, breakdown)
  const stopped = breakdown?.cause === 'aborted' || breakdown?.cause === 'closed'
  // A status that refuses says all there is to know, even where its body is cut off.
  if (!stopped && (exchange.status < 200 || exchange.status > 299)) throw refused(asked, exchange)
  if (breakdown) throw broken(asked, exchange, breakdown)
  return exchange
}

function requireJson(exchange: Exchange, asked: Asked): JsonBody {
  const json = parseBody(exchange.body)
  if (!json) throw unreadable(asked, exchange, describeNonJson(exchange.body))
  return json
}

function documented<T>(exchange: Exchange, asked: Asked, read: () => T): T {
  try {
    return read()
  } catch (problem) {
    throw undocumented(asked, exchange, problem)
  }
}
