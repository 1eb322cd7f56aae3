// Parses a body into an event without its secrets, or refuses it: all processing of an event before it is appended.
import { isAscii } from 'node:buffer'
import { createHash } from 'node:crypto'
import { EVENT_SECRET, EVENT_TYPES, eventTypeOf } from '../catalog/events/event-types.ts'
import { isPersonal } from '../catalog/shape.ts'
import { countRemoved, type RemovedSecrets, redactForms, redactSecrets } from '../client/redaction/redaction.ts'
import { nameMeaning } from '../client/redaction/secret-names.ts'
import { canonicalJson, withSortedKeys } from '../json/canonical.ts'
import { ExactNumber, MAX_DEPTH, readExactly, writeExactly } from '../json/exact-json.ts'
import type { SpoolEvent } from '../spool/event-line.ts'
import type { Authenticator } from './authenticate.ts'
import type { Refusal } from './refusals.ts'

export type ParsedEvent = { refused: Refusal } | { event: Omit<SpoolEvent, 'receivedAtMs'> }

type Payload = Record<string, unknown>

/** Some senders begin a body with it. A parser may ignore it (RFC 8259, section 8.1). */
const BYTE_ORDER_MARK = '\uFEFF'

/** Decodes a body. Invalid UTF-8 becomes U+FFFD, so that the rest of the event is not lost. */
function textOf(body: Buffer): string {
  if (isAscii(body)) return body.toString('latin1')
  const text = body.toString('utf8')
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
}

/** Returns a body in UTF-16 as UTF-8, and any other body unchanged. */
export function utf8Of(body: Buffer): Buffer {
  const [, little, big] = /^(\xff\xfe|[^\0]\0)|^(\xfe\xff|\0[^\0])/.exec(body.toString('latin1', 0, 2)) ?? []
  if (!little && !big) return body
  return Buffer.from(new TextDecoder(little ? 'utf-16le' : 'utf-16be').decode(body))
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Fields that the catalog declares as a person's words or names. */
const DECLARED: ReadonlySet<string> = new Set(
  EVENT_TYPES.flatMap(({ fields }) =>
    Object.entries(fields).flatMap(([name, field]) => (field.kind === 'scalar' && isPersonal(field.pii) ? [name] : [])),
  ),
)

/** True for fields that contain a person's words or names: only the workspace's own secret is removed from them (ADR 11). */
const isCustomerField = (name: string): boolean => DECLARED.has(name) || nameMeaning(name).isCustomerData

const isExact = (value: object): boolean => value instanceof ExactNumber

/** Masks the workspace's secrets in all strings and keys, and removes every member with the name reserved for the secret. */
function withoutSecrets(value: unknown, forms: readonly string[]): unknown {
  if (typeof value === 'string') return redactForms(value, forms)
  if (typeof value !== 'object' || value === null || isExact(value)) return value
  if (Array.isArray(value)) return value.map(element => withoutSecrets(element, forms))
  const entries = Object.entries(value)
    .filter(([key]) => key !== EVENT_SECRET)
    .map(([key, inner]) => [redactForms(key, forms), withoutSecrets(inner, forms)])
  return Object.fromEntries(entries)
}

const canonical = (payload: unknown, inexact: boolean): string =>
  inexact ? writeExactly(withSortedKeys(payload, isExact)) : canonicalJson(payload)

/** Returns the payload's canonical JSON without secrets, regardless of their position. */
function keptBytes(
  payload: Payload,
  { traits, forms }: { traits: PayloadTraits; forms: readonly string[] },
): { bytes: Buffer; removed: RemovedSecrets } {
  const { hasSecretInside, inexact } = traits
  const { value: kept, droppedPaths } = redactSecrets(payload, { isUntouched: isCustomerField, isOfCustomers: true })
  const bytes = Buffer.from(canonical(kept, inexact))
  const holdsForm = hasSecretInside || forms.some(form => bytes.includes(form))
  return {
    bytes: holdsForm ? Buffer.from(canonical(withoutSecrets(kept, forms), inexact)) : bytes,
    removed: countRemoved(droppedPaths),
  }
}

/** Parses a body. `addressed`: the workspace in the URL, if any. */
export function parseEvent(body: Buffer, addressed: string | null, authenticate: Authenticator): ParsedEvent {
  const text = textOf(body)
  const value = parse(text)
  if (value === undefined) return { refused: 'not-json' }
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  const given = isObject && Object.hasOwn(value, EVENT_SECRET) ? (value as Payload)[EVENT_SECRET] : undefined
  const workspace = authenticate(given, addressed)
  if (workspace === null) return { refused: 'wrong-secret' }
  const traits = inspectPayload(withoutSecret(value as Payload))
  if (traits.tooDeep) return { refused: 'too-deep' }
  const payload = withoutSecret((traits.inexact ? readExactly(text).value : value) as Payload)
  const { bytes, removed } = keptBytes(payload, { traits, forms: workspace.secretForms })
  const type = eventTypeOf(payload)
  const id = eventId({ type, createdAt: payload.createdAt, payload: bytes })
  const redaction = Object.keys(removed).length === 0 ? {} : { removed }
  return { event: { id, workspaceId: workspace.id, type, payload: bytes, ...redaction } }
}

/**
 * Returns the SHA-256 of an event, as hex. `payload` must be canonical, so that an event that is delivered twice has
 * one id, regardless of the order of its keys.
 */
export function eventId(event: { type: string; createdAt: unknown; payload: Uint8Array }): string {
  const head = `${JSON.stringify([event.type, event.createdAt ?? null])}\n`
  return createHash('sha256').update(head).update(event.payload).digest('hex')
}

function withoutSecret({ [EVENT_SECRET]: _, ...payload }: Payload): Payload {
  return payload
}

/** Properties of a payload that determine its further processing, all found in one pass. */
interface PayloadTraits {
  /** True if it is nested deeper than `MAX_DEPTH`. */
  tooDeep: boolean
  /** True if it contains a number that a double cannot represent exactly. */
  inexact: boolean
  /** True if it contains a nested member with the name of the member that contains the secret. */
  hasSecretInside: boolean
}

function walk(value: unknown, traits: PayloadTraits, levels: number): void {
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value) && (!Number.isFinite(value) || Number.isInteger(value))) traits.inexact = true
    return
  }
  if (typeof value !== 'object' || value === null) return
  if (levels === 0) {
    traits.tooDeep = true
    return
  }
  if (Array.isArray(value)) {
    for (const element of value) if (typeof element !== 'string') walk(element, traits, levels - 1)
    return
  }
  const object = value as Record<string, unknown>
  for (const key in object) {
    if (key === EVENT_SECRET) traits.hasSecretInside = true
    const inner = object[key]
    if (typeof inner !== 'string') walk(inner, traits, levels - 1)
  }
}

function inspectPayload(payload: object): PayloadTraits {
  const traits: PayloadTraits = { tooDeep: false, inexact: false, hasSecretInside: false }
  walk(payload, traits, MAX_DEPTH)
  return traits
}
