// JSON read and written without what `JSON.parse` loses without a word: the digits of a number, a key that stands twice,
// half of a surrogate pair. The tolerant path of loading reads records so; Node's own parser tells the text of a number
// only from version 21 on.

/** A number whose text says more than a double does, or says it otherwise: `12345678901234567890`, `1.50`, `1e3`. */
export class ExactNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/**
 * Levels of nesting that are read. DuckDB's parser ends the whole process with objects some ten thousand deep, and no
 * record means anything by hundreds.
 */
export const MAX_DEPTH = 500

export type JsonFault = 'duplicate key' | 'lone surrogate'

export interface ReadExactly {
  /** Objects have no prototype; of a key that stands twice the last value stays. */
  value: unknown
  /** What was mended while reading: the keys on the way to it, `[]` for an element, and what. */
  faults: { path: string[]; fault: JsonFault }[]
}

/** Thrown for a value that is nested deeper than MAX_DEPTH. */
export class TooDeep extends Error {}

const SPACE = 0x20
const isSpace = (code: number): boolean => code === SPACE || code === 0x0a || code === 0x0d || code === 0x09
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const WORDS: readonly [string, unknown][] = [
  ['true', true],
  ['false', false],
  ['null', null],
]

/** Where the string that begins at `at` ends, behind its quote. */
export function endOfString(text: string, at: number): number {
  for (let quote = text.indexOf('"', at + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let slashes = 0
    while (text[quote - 1 - slashes] === '\\') slashes += 1
    if (slashes % 2 === 0) return quote + 1
  }
  throw new SyntaxError('a string without an end')
}

/** Position of the next character that is no white space. */
export function skipSpace(text: string, at: number): number {
  let next = at
  // A regular expression took ten times as long: most often there is none.
  for (let code = text.charCodeAt(next); code <= SPACE && isSpace(code); code = text.charCodeAt(next)) next += 1
  return next
}

function numberOf(text: string): number | ExactNumber {
  const value = Number(text)
  // Integers beyond 2^53 stay text even where a double happens to hold them: nothing else tells.
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
    if (this.next() !== undefined) throw new SyntaxError('no end where one belongs')
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
    if (!number && !word) throw new SyntaxError('no value where one belongs')
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

  /** Steps over a comma (true) or the closing bracket (false). */
  private goesOn(close: string): boolean {
    const found = this.next()
    if (found !== ',' && found !== close) throw new SyntaxError('neither a comma nor an end')
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
    // No prototype: a key may be called `__proto__`.
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
    if (this.next() !== '"') throw new SyntaxError('no key where one belongs')
    // A key that is mended itself is at no path that had a name.
    this.path[this.path.length - 1] = ''
    const key = this.string()
    this.path[this.path.length - 1] = key
    if (this.next() !== ':') throw new SyntaxError('a key without a value')
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

/** JSON of a value that `readExactly` gave, or of plain values: numbers as they came. Not nested deeper than it reads. */
export function writeExactly(value: unknown): string {
  if (value instanceof ExactNumber) return value.text
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(writeExactly).join(',')}]`
  const members = Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}:${writeExactly(inner)}`)
  return `{${members.join(',')}}`
}
