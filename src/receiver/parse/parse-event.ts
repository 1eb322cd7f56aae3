// Parses a body into an event without its secrets, or refuses the body. A pure function: all processing of an event before it is appended.
import { isAscii } from 'node:buffer'
import { EVENT_SECRET } from '../../catalog/events/event-types.ts'
import { eventTypeOf } from '../../catalog/events/identify-type.ts'
import { countRemoved, type RemovedSecrets, redactSecrets, redactText } from '../../client/redaction/redaction.ts'
import { isNestedDeeper } from '../../json/bytes.ts'
import { canonicalJson, canonicalText, withSortedKeys } from '../../json/canonical.ts'
import { ExactNumber, MAX_DEPTH, readExactly, writeExactly } from '../../json/exact-json.ts'
import type { SpoolEvent } from '../../spool/event-line.ts'
import { eventId } from '../../spool/identity.ts'
import type { Authenticator } from '../authenticate.ts'
import type { Refusal } from '../refusals.ts'
import { isCustomerField } from './names.ts'

export type ParsedEvent = { refused: Refusal } | { event: Omit<SpoolEvent, 'receivedAtMs'> }

type Payload = Record<string, unknown>

/** Smaller bodies cannot be nested deeper than the parser can handle, so they are parsed without a check. */
const DEPTH_CHECK_BYTES = 64 * 1024

/** Some senders begin a body with it; a parser may ignore it (RFC 8259, section 8.1). */
const BYTE_ORDER_MARK = '\uFEFF'

/** Invalid UTF-8 becomes U+FFFD, so that the rest of the event is not lost. */
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

/** Masks the workspace's secrets in all strings and keys, and removes every member with the name that is reserved for the secret. */
function withoutSecrets(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === 'string') return redactText(value, secrets)
  if (typeof value !== 'object' || value === null || isExact(value)) return value
  if (Array.isArray(value)) return value.map(element => withoutSecrets(element, secrets))
  const entries = Object.entries(value)
    .filter(([key]) => key !== EVENT_SECRET)
    .map(([key, inner]) => [redactText(key, secrets), withoutSecrets(inner, secrets)])
  return Object.fromEntries(entries)
}

const canonical = (payload: unknown, inexact: boolean): string =>
  inexact ? writeExactly(withSortedKeys(payload, isExact)) : canonicalJson(payload)

interface KeptText {
  text: string
  removed: RemovedSecrets
}

/** The payload's canonical text without secrets, wherever the sender has put them. `sent`: the text from which the payload was parsed. */
function keptText(
  payload: Payload,
  { look, sent, secrets }: { look: PayloadTraits; sent: string; secrets: readonly string[] },
): KeptText {
  const { hasSecretInside, inexact } = look
  const { value: kept, droppedPaths } = redactSecrets(payload, { isUntouched: isCustomerField })
  const isChanged = droppedPaths.length > 0
  const text = isChanged || inexact ? canonical(kept, inexact) : canonicalText(payload, sent)
  const holdsSecret = hasSecretInside || redactText(text, secrets) !== text
  return {
    text: holdsSecret ? canonical(withoutSecrets(kept, secrets), inexact) : text,
    removed: countRemoved(droppedPaths),
  }
}

/** Parses a body. `addressed`: the workspace in the URL, if any. */
export function parseEvent(body: Buffer, addressed: string | null, authenticate: Authenticator): ParsedEvent {
  if (body.length > DEPTH_CHECK_BYTES && isNestedDeeper(body, MAX_DEPTH)) return { refused: 'too-deep' }
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
  const redaction = Object.keys(removed).length === 0 ? {} : { removed }
  return { event: { id, workspaceId: workspace.id, type, payload: bytes, ...redaction } }
}

function withoutSecret({ [EVENT_SECRET]: _, ...payload }: Payload): Payload {
  return payload
}

/** Properties of a payload that determine its further processing, all found in one walk over it. */
interface PayloadTraits {
  /** Nested deeper than `MAX_DEPTH`. */
  tooDeep: boolean
  /** Contains a number that a double cannot represent exactly. */
  inexact: boolean
  /** Contains a nested member with the name of the member that contains the secret. */
  hasSecretInside: boolean
}

function walk(value: unknown, look: PayloadTraits, levels: number): void {
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value) && (!Number.isFinite(value) || Number.isInteger(value))) look.inexact = true
    return
  }
  if (typeof value !== 'object' || value === null) return
  if (levels === 0) {
    look.tooDeep = true
    return
  }
  if (Array.isArray(value)) {
    for (const element of value) if (typeof element !== 'string') walk(element, look, levels - 1)
    return
  }
  const object = value as Record<string, unknown>
  for (const key in object) {
    if (key === EVENT_SECRET) look.hasSecretInside = true
    const inner = object[key]
    if (typeof inner !== 'string') walk(inner, look, levels - 1)
  }
}

function inspectPayload(payload: object): PayloadTraits {
  const look: PayloadTraits = { tooDeep: false, inexact: false, hasSecretInside: false }
  walk(payload, look, MAX_DEPTH)
  return look
}
