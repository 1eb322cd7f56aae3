// What the names in bodies say, by their bytes: nearly every name has been seen before, and to make a text of each would take longer
// than all else that is done with it.
import { EVENT_SECRET } from '../../catalog/events.ts'
import { nameMeaning } from '../../vendor/secret-names.ts'
import { withoutSecretValues } from '../../vendor/secret-values.ts'
import { isCustomerField } from './customer-fields.ts'

/** What a name may say, in bits; most say nothing. */
export const MEANING = {
  /** It holds what opens the door. */
  credential: 1,
  /** It holds customer data, where names say nothing. */
  customer: 2,
  /** It may hold a secret, unless its value is a boolean or null. */
  secret: 4,
  /** It may hold a secret where its value is no count. */
  count: 8,
  /** It may hold a secret where its value is a text. */
  text: 16,
  /** The whole body is to be judged by its values. */
  always: 32,
  /** A secret, where what stands beside it is named after one. */
  value: 64,
  /** What stands beside it is named so. */
  naming: 128,
  field: 256,
  audited: 512,
} as const

export interface Name {
  meaning: number
  /** The object in which it stood last, for each level of nesting. */
  lastIn: Float64Array
  bytes: Uint8Array
  /** The name that came after it last: nearly always it does again, which is seen in half the time of looking for it. */
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

function saysOf(name: string): number {
  const known = BITS.get(name)
  if (known !== undefined) return known
  if (isCustomerField(name)) return MEANING.customer
  if (withoutSecretValues(name) !== name) return MEANING.always
  const { isSecret, isPlace, isCounted, isAuth } = nameMeaning(name)
  if (isSecret || isPlace) return MEANING.secret
  return isCounted ? MEANING.count : isAuth ? MEANING.text : 0
}

/** Names are the sender's: with more than so many, all are forgotten. */
const MOST_NAMES = 4_096
const LONGEST_NAME = 64
/** Names of one body that are made a text of: of fifty thousand, no other body would be taken in meanwhile. */
const MOST_TEXTS = 1_000

/** True where the body has the name there. */
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

  private named(says: number, bytes: Uint8Array): Name {
    return { meaning: says, lastIn: new Float64Array(this.levels + 1), bytes, next: null }
  }

  /** What comes before the first name of a body. Within one, nothing is forgotten: a name that stands twice is to be known. */
  begin(): Name {
    this.texts = 0
    if (this.known.size > MOST_NAMES) {
      this.known.clear()
      this.none = this.named(0, new Uint8Array())
    }
    return this.none
  }

  /** The name in these bytes, which have that hash; null where it is too long, another one has its hash, or there are too many. */
  find(body: Buffer, { from, to, hash }: { from: number; to: number; hash: number }): Name | null {
    const known = this.known.get(hash)
    if (known) return known.bytes.length === to - from && isAt(known, body, from) ? known : null
    if (to - from > LONGEST_NAME || ++this.texts > MOST_TEXTS) return null
    const text = body.toString('utf8', from, to)
    const name = this.named(saysOf(text), Uint8Array.from(body.subarray(from, to)))
    this.known.set(hash, name)
    return name
  }

  /** What stands beside a text, as it is written in JSON, may be a secret. */
  mayBeSecret(text: string): boolean {
    if (++this.texts > MOST_TEXTS || text.includes('\\')) return true
    const { isSecret, isCounted, isAuth } = nameMeaning(text)
    return isSecret || isCounted || isAuth
  }
}
