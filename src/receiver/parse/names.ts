// The meaning of member names, looked up by their bytes: nearly every name has been seen before, and decoding each one into a string would take
// longer than the rest of the scan.
import { EVENT_SECRET, EVENT_TYPES } from '../../catalog/events/event-types.ts'
import { nameMeaning } from '../../vendor/redaction/secret-names.ts'
import { withoutSecretValues } from '../../vendor/redaction/secret-values.ts'

const DECLARED: ReadonlySet<string> = new Set(
  EVENT_TYPES.flatMap(({ fields }) =>
    Object.entries(fields).flatMap(([name, field]) =>
      field.kind === 'scalar' && (field.pii ?? 'none') !== 'none' ? [name] : [],
    ),
  ),
)

/** True for fields that hold a person's words or names: only the workspace's own secret is removed from them (ADR 13). */
export const isCustomerField = (name: string): boolean => DECLARED.has(name) || nameMeaning(name).isCustomerData

/** Meanings of a name as bits; most names have none. */
export const MEANING = {
  /** The workspace's secret. */
  credential: 1,
  /** Customer data: names inside it have no meaning. */
  customer: 2,
  /** A possible secret, unless its value is a boolean or null. */
  secret: 4,
  /** A possible secret, unless its value is a number, a boolean or null. */
  count: 8,
  /** A possible secret where its value is a string. */
  text: 16,
  /** The body must be parsed. */
  always: 32,
  /** A secret, if a sibling names it as one. */
  value: 64,
  /** Names its siblings. */
  naming: 128,
  field: 256,
  audited: 512,
} as const

export interface Name {
  meaning: number
  /** Number of the object in which it last occurred, by level of nesting. */
  lastIn: Float64Array
  bytes: Uint8Array
  /** The name that last followed it. It nearly always follows again, and comparing takes half the time of a lookup. */
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

/** Senders choose the names: beyond this number all are forgotten. */
const MOST_NAMES = 4_096
const LONGEST_NAME = 64
/** Names of one body that are decoded into strings: fifty thousand would block all other bodies. */
const MOST_TEXTS = 1_000

/** True where the body contains the name at that offset. */
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

  /** The entry before the first name of a body. Names are forgotten only here: within a body, duplicate names must be found. */
  begin(): Name {
    this.texts = 0
    if (this.known.size > MOST_NAMES) {
      this.known.clear()
      this.none = this.named(0, new Uint8Array())
    }
    return this.none
  }

  /** The name in these bytes with that hash; null where it is too long, its hash collides, or the body has too many new names. */
  find(body: Buffer, { from, to, hash }: { from: number; to: number; hash: number }): Name | null {
    const known = this.known.get(hash)
    if (known) return known.bytes.length === to - from && isAt(known, body, from) ? known : null
    if (to - from > LONGEST_NAME || ++this.texts > MOST_TEXTS) return null
    const text = body.toString('utf8', from, to)
    const name = this.named(meaningOf(text), Uint8Array.from(body.subarray(from, to)))
    this.known.set(hash, name)
    return name
  }

  /** True where a sibling that is named by this JSON text may hold a secret. */
  mayBeSecret(text: string): boolean {
    if (++this.texts > MOST_TEXTS || text.includes('\\')) return true
    const { isSecret, isCounted, isAuth } = nameMeaning(text)
    return isSecret || isCounted || isAuth
  }
}
