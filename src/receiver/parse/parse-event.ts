// What a body is: an event of a workspace, to be kept without its secrets, or nothing that is taken. Pure, and all that is
// done with an event before it is appended.
import { isAscii } from 'node:buffer'
import { eventTypeOf } from '../../catalog/event-type.ts'
import { EVENT_SECRET } from '../../catalog/events.ts'
import { canonicalJson, canonicalText, withSortedKeys } from '../../json/canonical.ts'
import { ExactNumber, MAX_DEPTH, readExactly, writeExactly } from '../../json/exact-json.ts'
import { isNestedDeeper } from '../../json/nesting.ts'
import type { SpoolEvent } from '../../spool/event-line.ts'
import { eventId } from '../../spool/identity.ts'
import { countRemoved, type RemovedSecrets, redactSecrets, redactText } from '../../vendor/redaction.ts'
import type { Authenticator } from '../authenticate.ts'
import type { Refusal } from '../refusals.ts'
import { isCustomerField } from './customer-fields.ts'
import { inspectPayload, type PayloadTraits } from './look-over.ts'

export type ParsedEvent = { refused: Refusal } | { event: Omit<SpoolEvent, 'receivedAtMs'> }

type Payload = Record<string, unknown>

/** Smaller bodies are parsed before it is looked how deep they are: they have no room for more than the parser can take. */
const LOOKED_INTO_BYTES = 64 * 1024

/** Some senders begin with it; a parser may ignore it (RFC 8259, section 8.1). */
const BYTE_ORDER_MARK = '\uFEFF'

/** Bytes that are no UTF-8 become U+FFFD: what else the event says is not lost with them. */
function textOf(body: Buffer): string {
  if (isAscii(body)) return body.toString('latin1')
  const text = body.toString('utf8')
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isExact = (value: object): boolean => value instanceof ExactNumber

/** The value with every text of it, and every key, without the workspace's secrets, and without the member that holds one. */
function blanked(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === 'string') return redactText(value, secrets)
  if (typeof value !== 'object' || value === null || isExact(value)) return value
  if (Array.isArray(value)) return value.map(element => blanked(element, secrets))
  const entries = Object.entries(value)
    .filter(([key]) => key !== EVENT_SECRET)
    .map(([key, inner]) => [redactText(key, secrets), blanked(inner, secrets)])
  return Object.fromEntries(entries)
}

const canonical = (payload: unknown, inexact: boolean): string =>
  inexact ? writeExactly(withSortedKeys(payload, isExact)) : canonicalJson(payload)

interface KeptText {
  text: string
  removed: RemovedSecrets
}

/** The payload's text without a secret in it, wherever the sender has put it; `sent` is what it was read from. */
function keptText(
  payload: Payload,
  { look, sent, secrets }: { look: PayloadTraits; sent: string; secrets: readonly string[] },
): KeptText {
  const { hasSecretInside, inexact } = look
  const { value: kept, droppedPaths } = redactSecrets(payload, { isUntouched: isCustomerField })
  const isChanged = droppedPaths.length > 0
  const text = isChanged || inexact ? canonical(kept, inexact) : canonicalText(payload, sent)
  const isToBlank = hasSecretInside || redactText(text, secrets) !== text
  return { text: isToBlank ? canonical(blanked(kept, secrets), inexact) : text, removed: countRemoved(droppedPaths) }
}

/** `addressed`: the workspace in the address, if any. */
export function parseEvent(body: Buffer, addressed: string | null, authenticate: Authenticator): ParsedEvent {
  if (body.length > LOOKED_INTO_BYTES && isNestedDeeper(body, MAX_DEPTH)) return { refused: 'too-deep' }
  const text = textOf(body)
  const value = parse(text)
  if (value === undefined) return { refused: 'not-json' }
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  const given = isObject && Object.hasOwn(value, EVENT_SECRET) ? (value as Payload)[EVENT_SECRET] : undefined
  const workspace = authenticate(given, addressed)
  if (workspace === null) return { refused: 'wrong-secret' }
  const look = inspectPayload(withoutSecret(value as Payload))
  if (look.tooDeep) return { refused: 'too-deep' }
  const payload = withoutSecret((look.inexact ? readExactly(text).value : value) as Payload)
  const { text: kept, removed } = keptText(payload, { look, sent: text, secrets: workspace.secrets })
  const bytes = Buffer.from(kept)
  const type = eventTypeOf(payload)
  const id = eventId({ type, createdAt: payload.createdAt, payload: bytes })
  const told = Object.keys(removed).length === 0 ? {} : { removed }
  return { event: { id, workspaceId: workspace.id, type, payload: bytes, ...told } }
}

function withoutSecret({ [EVENT_SECRET]: _, ...payload }: Payload): Payload {
  return payload
}
