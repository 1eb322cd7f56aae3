// The meaning of member names, looked up by their bytes: nearly every name has been seen before, and decoding each one into a string would
// take longer than the rest of the scan.
import { EVENT_SECRET, EVENT_TYPES } from '../../catalog/events/event-types.ts'
import { nameMeaning } from '../../client/redaction/secret-names.ts'
import { withoutSecretValues } from '../../client/redaction/secret-values.ts'

const DECLARED: ReadonlySet<string> = new Set(
  EVENT_TYPES.flatMap(({ fields }) =>
    Object.entries(fields).flatMap(([name, field]) =>
      field.kind === 'scalar' && (field.pii ?? 'none') !== 'none' ? [name] : [],
    ),
  ),
)

/** True for fields that contain a person's words or names: only the workspace's own secret is removed from them (ADR 11). */
export const isCustomerField = (name: string): boolean => DECLARED.has(name) || nameMeaning(name).isCustomerData

/** What the name of a member means for secrets, as bits; most names mean nothing. */
export const MEANING = {
  /** The member contains the workspace's secret. */
  credential: 1,
  /** The member is customer data: names inside it have no meaning. */
  customer: 2,
  /** A possible secret, unless its value is a boolean or null. */
  secret: 4,
  /** A possible secret, unless its value is a number, a boolean or null. */
  count: 8,
  /** A possible secret where its value is a string. */
  text: 16,
  /** Wherever this name appears, the body must be parsed. */
  always: 32,
  /** A possible secret, if the value of a sibling (`naming`) is the name of one. */
  value: 64,
  /** The value is the name of its siblings. */
  naming: 128,
  field: 256,
  audited: 512,
} as const

export interface Name {
  meaning: number
  /** By level of nesting: number of the object in which the name last occurred. */
  lastIn: Float64Array
  bytes: Uint8Array
  /** The name that last followed this one. Nearly always it follows again, and comparing the two takes half the time of a lookup. */
  next: Name | null
}

const BITS: ReadonlyMap<string, number> = new Map([
  [EVENT_SECRET, MEANING.credential],
  ['value', MEANING.value],
  ['defaultValue', MEANING.value],
  ['key', MEANING.naming],
  ['name', MEANING.naming],
  ['field', MEANING.field],
  ['oldValue', MEANING.audited],
  ['newValue', MEANING.audited],
  ['isEnv', MEANING.always],
])

function meaningOf(name: string): number {
  const known = BITS.get(name)
  if (known !== undefined) return known
  if (isCustomerField(name)) return MEANING.customer
  if (withoutSecretValues(name) !== name) return MEANING.always
  const { isSecret, isPlace, isCounted, isAuth } = nameMeaning(name)
  if (isSecret || isPlace) return MEANING.secret
  return isCounted ? MEANING.count : isAuth ? MEANING.text : 0
}

/** Senders choose the names, so the number is limited: beyond it, all known names are forgotten. */
const MOST_NAMES = 4_096
const LONGEST_NAME = 64
/** Maximum number of names per body that are decoded into strings: fifty thousand would block all other bodies. */
const MOST_TEXTS = 1_000

/** True where the body contains the name at offset `from`. */
export function isAt({ bytes }: Name, body: Uint8Array, from: number): boolean {
  for (let at = 0; at < bytes.length; at++) if (bytes[at] !== body[from + at]) return false
  return true
}

export class Names {
  private readonly levels: number
  private readonly known = new Map<number, Name>()
  private none: Name
  private texts = 0

  constructor(levels: number) {
    this.levels = levels
    this.none = this.named(0, new Uint8Array())
  }

  private named(meaning: number, bytes: Uint8Array): Name {
    return { meaning: meaning, lastIn: new Float64Array(this.levels + 1), bytes, next: null }
  }

  /** Begins a body and returns the entry before its first name. Names are forgotten only here: within a body, duplicates must be found. */
  begin(): Name {
    this.texts = 0
    if (this.known.size > MOST_NAMES) {
      this.known.clear()
      this.none = this.named(0, new Uint8Array())
    }
    return this.none
  }

  /** The name in this range of the body; null where it is too long, its hash collides, or the body contains too many new names. */
  find(body: Buffer, { from, to, hash }: { from: number; to: number; hash: number }): Name | null {
    const known = this.known.get(hash)
    if (known) return known.bytes.length === to - from && isAt(known, body, from) ? known : null
    if (to - from > LONGEST_NAME || ++this.texts > MOST_TEXTS) return null
    const text = body.toString('utf8', from, to)
    const name = this.named(meaningOf(text), Uint8Array.from(body.subarray(from, to)))
    this.known.set(hash, name)
    return name
  }

  /** True where `text`, a raw JSON string that names a sibling, may be the name of a secret. */
  mayBeSecret(text: string): boolean {
    if (++this.texts > MOST_TEXTS || text.includes('\\')) return true
    const { isSecret, isCounted, isAuth } = nameMeaning(text)
    return isSecret || isCounted || isAuth
  }
}
