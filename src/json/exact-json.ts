// Reads and writes JSON and keeps or reports what `JSON.parse` loses: the digits of a number, duplicate keys, lone surrogates.
// The tolerant path of loading uses it. Node's own parser gives access to the text of a number only from version 21 on.
import { endOfString, skipSpace } from './tokens.ts'

/** A number that a double cannot represent exactly, or would write differently: `12345678901234567890`, `1.50`, `1e3`. */
export class ExactNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/**
 * Maximum nesting. DuckDB's parser crashes the process on objects nested some ten thousand deep, and no real record is
 * nested hundreds deep.
 */
export const MAX_DEPTH = 500

type JsonFault = 'duplicate key' | 'lone surrogate'

export interface ReadExactly {
  /** Objects have no prototype; of duplicate keys the last value is kept. */
  value: unknown
  /** Repaired faults: the path of keys, with `[]` for an element, and the fault. */
  faults: { path: string[]; fault: JsonFault }[]
}

/** Thrown for a value that is nested deeper than MAX_DEPTH. */
export class TooDeep extends Error {}

const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const WORDS: readonly [string, unknown][] = [
  ['true', true],
  ['false', false],
  ['null', null],
]

function numberOf(text: string): number | ExactNumber {
  const value = Number(text)
  // Integers beyond 2^53 stay text even if a double happens to represent them exactly, because the double alone does not show that.
  const exact = String(value) === text && (Number.isSafeInteger(value) || !Number.isInteger(value))
  return exact ? value : new ExactNumber(text)
}

class Reader {
  readonly faults: ReadExactly['faults'] = []
  private readonly text: string
  private readonly path: string[] = []
  private at = 0

  constructor(text: string) {
    this.text = text
  }

  whole(): unknown {
    const value = this.value()
    if (this.next() !== undefined) throw new SyntaxError('a second value after the first')
    return value
  }

  private next(): string | undefined {
    this.at = skipSpace(this.text, this.at)
    return this.text[this.at]
  }

  private value(): unknown {
    switch (this.next()) {
      case '{':
        return this.object()
      case '[':
        return this.array()
      case '"':
        return this.string()
      default:
        return this.plain()
    }
  }

  private plain(): unknown {
    NUMBER.lastIndex = this.at
    const number = NUMBER.exec(this.text)
    const word = number ? undefined : WORDS.find(([name]) => this.text.startsWith(name, this.at))
    if (!number && !word) throw new SyntaxError('a value is missing')
    this.at += (number ?? word!)[0].length
    return number ? numberOf(number[0]) : word![1]
  }

  private string(): string {
    const end = endOfString(this.text, this.at)
    const quoted = this.text.slice(this.at, end)
    this.at = end
    if (!quoted.includes('\\')) return quoted.slice(1, -1)
    const value = JSON.parse(quoted) as string
    if (value.isWellFormed()) return value
    this.faults.push({ path: [...this.path], fault: 'lone surrogate' })
    return value.toWellFormed()
  }

  private enter(step: string): void {
    if (this.path.push(step) > MAX_DEPTH) throw new TooDeep()
  }

  /** Consumes a comma (returns true) or the closing bracket (returns false). */
  private goesOn(close: string): boolean {
    const found = this.next()
    if (found !== ',' && found !== close) throw new SyntaxError('a comma or the end is missing')
    this.at += 1
    return found === ','
  }

  private isEmpty(close: string): boolean {
    this.at += 1
    if (this.next() !== close) return false
    this.at += 1
    return true
  }

  private array(): unknown[] {
    const elements: unknown[] = []
    this.enter('[]')
    if (!this.isEmpty(']')) {
      do elements.push(this.value())
      while (this.goesOn(']'))
    }
    this.path.pop()
    return elements
  }

  private object(): Record<string, unknown> {
    // No prototype, since a key may be called `__proto__`.
    const members = Object.create(null) as Record<string, unknown>
    this.enter('')
    if (!this.isEmpty('}')) {
      do this.member(members)
      while (this.goesOn('}'))
    }
    this.path.pop()
    return members
  }

  private member(members: Record<string, unknown>): void {
    if (this.next() !== '"') throw new SyntaxError('a key is missing')
    // A fault in the key itself is reported under an empty name.
    this.path[this.path.length - 1] = ''
    const key = this.string()
    this.path[this.path.length - 1] = key
    if (this.next() !== ':') throw new SyntaxError('a colon is missing')
    this.at += 1
    if (key in members) this.faults.push({ path: [...this.path], fault: 'duplicate key' })
    members[key] = this.value()
  }
}

/** Reads one JSON value. @throws TooDeep, SyntaxError; no message quotes the text */
export function readExactly(text: string): ReadExactly {
  const reader = new Reader(text)
  return { value: reader.whole(), faults: reader.faults }
}

/** Returns JSON of plain values or a value from `readExactly`, with its numbers as read, nested at most MAX_DEPTH deep. */
export function writeExactly(value: unknown): string {
  if (value instanceof ExactNumber) return value.text
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(writeExactly).join(',')}]`
  const members = Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}:${writeExactly(inner)}`)
  return `{${members.join(',')}}`
}

/**
 * Matches a number with more than the 15 digits that every double represents, or with an exponent, and half of a surrogate pair. A
 * match inside a string only costs time. A number begins the text or follows one of `:,[`, so ids of hexadecimal digits do not match.
 */
const NEEDS_CARE = /(?:^|[:,[])-?(?:[\d.]{16}|[\d.]+[eE])|\\ud/

/** A value, and the function that writes it, or a part of it, as the same JSON. */
export interface CanonicalJson {
  value: unknown
  write: (value: unknown) => string
}

/**
 * Reads JSON whose keys are unique and whose numbers are written as JavaScript writes them, such as the spool's. Uses
 * the built-in parser if that loses nothing, which is ten times as fast as `readExactly`. @throws SyntaxError
 */
export const readCanonical = (text: string): CanonicalJson =>
  NEEDS_CARE.test(text)
    ? { value: readExactly(text).value, write: writeExactly }
    : { value: JSON.parse(text), write: JSON.stringify }
