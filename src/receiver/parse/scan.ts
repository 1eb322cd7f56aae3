// One pass over the bytes of a body: whether it is JSON of which nothing is a secret but the member that opens the door, and where that
// stands. It takes half as long as the parser alone.
//
// It says so only of what leaves no doubt, and of nearly every body: not where a name or a secret might hide behind an escape, a key
// stands twice, a name or a value outside of customer data is one of a secret, a number is one that a double does not hold, lines end, it
// is nested deep or has many names that nobody has seen before; nor of what is no JSON. What is in doubt is parsed.

import { BYTE, ESCAPED, firstByte, isBlank, isDigit, PLAIN, specials, WORD_BYTES, WORDS } from '../../json/bytes.ts'
import { maySecretBeIn } from '../../vendor/secret-values.ts'
import { isAt, MEANING, type Name, Names } from './names.ts'

/** The member, with the comma that goes with it. */
export interface SecretMember {
  secret: string
  from: number
  to: number
}

const LEVELS = 16
/** Any whole number of as many digits is one that a double holds. */
const DIGITS = 15

/** The shortest value that is a secret under any name has more. */
const SHORTEST_SECRET = 8

/** FNV-1a. */
const [HASH_BASIS, HASH_PRIME] = [0x811c9dc5 | 0, 0x01000193]

const DOUBT = new Error('in doubt')

/** Made once: a body in doubt is none of ours that went wrong. */
function doubt(): never {
  throw DOUBT
}

/** Larger bodies are parsed. */
const LARGEST_BYTES = 256 * 1024

class Scan {
  private readonly names = new Names(LEVELS)
  /** A copy of the body, with zeros behind it: to read where nothing is takes five times as long. */
  private readonly body = Buffer.alloc(LARGEST_BYTES + WORD_BYTES)
  private readonly words = new DataView(this.body.buffer)
  private at = 0
  private last: Name = this.names.begin()
  /** How many have been begun; of this and of all bodies before. */
  private objects = 0
  private member: SecretMember | null = null
  /** Within customer data names and values are what they are. */
  private isExempt = false

  run(body: Uint8Array): SecretMember | null {
    if (body.length > LARGEST_BYTES) return null
    this.last = this.names.begin()
    this.body.set(body)
    this.words.setInt32(body.length, 0)
    this.at = 0
    this.member = null
    this.isExempt = false
    try {
      if (this.next() !== BYTE.openObject) return null
      this.object(1)
      this.next()
      return this.at === body.length && this.member ? withComma(body, this.member) : null
    } catch (error) {
      if (error !== DOUBT) throw error
      return null
    }
  }

  /** The next byte that is no blank; lines are none: one ends a line of the spool. */
  private next(): number {
    const { body } = this
    let byte = body[this.at]!
    while (isBlank(byte)) byte = body[++this.at]!
    return byte
  }

  private value(level: number): void {
    const byte = this.next()
    if (byte === BYTE.quote) this.string()
    else if (byte === BYTE.openObject) this.object(level + 1)
    else if (byte === BYTE.openList) this.list(level + 1)
    else if (byte === BYTE.minus || isDigit(byte)) this.number()
    else this.word()
  }

  private string(): void {
    const { body } = this
    const from = this.at + 1
    let at = from
    for (;;) {
      at = this.behindPlain(at)
      if (body[at] === BYTE.quote) break
      if (body[at] !== BYTE.backslash || ESCAPED[body[at + 1]!] !== 1) doubt()
      at += 2
    }
    this.at = at + 1
    if (this.isExempt || at - from < SHORTEST_SECRET) return
    if (maySecretBeIn(body.toString('latin1', from, at))) doubt()
  }

  /** A value of which nothing is looked at but that it is JSON, and that no name stands in it twice. */
  private exempt(level: number): void {
    this.isExempt = true
    this.value(level)
    this.isExempt = false
  }

  /** Where the first byte stands from there on that does not stand for itself; behind the body, there is one. */
  private behindPlain(from: number): number {
    const { words } = this
    let at = from
    let found = specials(words.getInt32(at, true))
    while (found === 0) {
      at += WORD_BYTES
      found = specials(words.getInt32(at, true))
    }
    return at + firstByte(found)
  }

  private number(): void {
    const { body } = this
    let at = this.at
    if (body[at] === BYTE.minus) at += 1
    const begin = at
    while (isDigit(body[at]!)) at += 1
    const whole = at - begin
    let digits = whole
    if (body[at] === BYTE.point) {
      at += 1
      while (isDigit(body[at]!)) at += 1
      digits = at - begin - 1
      if (digits === whole) doubt()
    }
    if (whole === 0 || digits > DIGITS || (whole > 1 && body[begin] === BYTE.zero)) doubt()
    this.at = at
  }

  private word(): void {
    const { body } = this
    const word = WORDS[body[this.at]!] ?? doubt()
    for (const byte of word) if (body[this.at++] !== byte) doubt()
  }

  private list(level: number): void {
    if (level > LEVELS) doubt()
    this.at += 1
    if (this.next() === BYTE.closeList) this.at += 1
    else
      do this.value(level)
      while (this.goesOn(BYTE.closeList))
  }

  /** Steps over a comma (true) or the closing bracket (false). */
  private goesOn(close: number): boolean {
    const byte = this.next()
    if (byte !== BYTE.comma && byte !== close) doubt()
    this.at += 1
    return byte === BYTE.comma
  }

  private object(level: number): void {
    if (level > LEVELS) doubt()
    this.at += 1
    if (this.next() === BYTE.closeObject) {
      this.at += 1
      return
    }
    const own = ++this.objects
    let says = 0
    do says |= this.pair(level, own)
    while (this.goesOn(BYTE.closeObject))
    if (says >= MEANING.value && isBesideSecret(says)) doubt()
  }

  /** A name and its value; what it says of those beside it. */
  private pair(level: number, own: number): number {
    if (this.next() !== BYTE.quote) doubt()
    const from = this.at
    const name = this.name()
    if (name.lastIn[level] === own) doubt()
    name.lastIn[level] = own
    if (this.next() !== BYTE.colon) doubt()
    this.at += 1
    const { meaning: says } = name
    if (says === 0 || (this.isExempt && says !== MEANING.credential)) this.value(level)
    else return this.tellingValue(says, { level, from })
    return 0
  }

  private name(): Name {
    const { next } = this.last
    const from = this.at + 1
    if (next && isAt(next, this.body, from) && this.body[from + next.bytes.length] === BYTE.quote) {
      this.at = from + next.bytes.length + 1
      this.last = next
      return next
    }
    const found = this.lookUp(from)
    this.last.next = found
    this.last = found
    return found
  }

  private lookUp(from: number): Name {
    const { body } = this
    let at = from
    let hash = HASH_BASIS
    for (let byte = body[at]!; PLAIN[byte] === 1; byte = body[++at]!) hash = Math.imul(hash ^ byte, HASH_PRIME)
    // An escape is none that a name has.
    if (body[at] !== BYTE.quote) doubt()
    this.at = at + 1
    return this.names.find(body, { from, to: at, hash }) ?? doubt()
  }

  /** The value of a name that says something. */
  private tellingValue(says: number, { level, from }: { level: number; from: number }): number {
    const first = this.next()
    const begin = this.at
    if (says === MEANING.customer || says === MEANING.credential) this.exempt(level)
    else this.value(level)
    // With an escape in it, it is not what is meant.
    const text = () => this.body.toString('utf8', begin + 1, this.at - 1)
    switch (says) {
      case MEANING.credential:
        if (level !== 1 || first !== BYTE.quote || text().includes('\\')) doubt()
        this.member = { secret: text(), from, to: this.at }
        return 0
      case MEANING.customer:
        return 0
      case MEANING.secret:
        return isWord(first) ? 0 : doubt()
      case MEANING.count:
        return isWord(first) || first === BYTE.minus || isDigit(first) ? 0 : doubt()
      case MEANING.text:
        return first === BYTE.quote ? doubt() : 0
      case MEANING.always:
        return doubt()
      case MEANING.naming:
        return first === BYTE.quote && this.names.mayBeSecret(text()) ? says : 0
      default:
        return says
    }
  }
}

/** `true`, `false` or `null`. */
const isWord = (first: number): boolean => WORDS[first] !== undefined

const holds = (says: number, one: number, other: number): boolean => (says & one) !== 0 && (says & other) !== 0

const isBesideSecret = (says: number): boolean =>
  holds(says, MEANING.value, MEANING.naming) || holds(says, MEANING.field, MEANING.audited)

/** With the comma behind it; of the last one with the comma before it. */
function withComma(body: Uint8Array, { secret, from, to }: SecretMember): SecretMember {
  let behind = to
  while (isBlank(body[behind]!)) behind += 1
  if (body[behind] === BYTE.comma) return { secret, from, to: behind + 1 }
  let before = from - 1
  while (isBlank(body[before]!)) before -= 1
  return { secret, from: body[before] === BYTE.comma ? before : from, to }
}

const scan = new Scan()

/** Null where anything is in doubt. The body is UTF-8. */
export const findSecret = (body: Uint8Array): SecretMember | null => scan.run(body)
