// JSON at byte level: the bytes of its syntax, a test of four bytes at once, and the depth of nesting.

export const BYTE = {
  tab: 0x09,
  space: 0x20,
  quote: 0x22,
  comma: 0x2c,
  minus: 0x2d,
  point: 0x2e,
  zero: 0x30,
  nine: 0x39,
  colon: 0x3a,
  openList: 0x5b,
  backslash: 0x5c,
  closeList: 0x5d,
  openObject: 0x7b,
  closeObject: 0x7d,
} as const

const table = (has: (byte: number) => boolean): Uint8Array =>
  Uint8Array.from({ length: 256 }, (_, byte) => (has(byte) ? 1 : 0))

/** Bytes that need no escape in a string. */
export const PLAIN = table(byte => byte >= BYTE.space && byte !== BYTE.quote && byte !== BYTE.backslash)

/** Bytes that follow the backslash in the two-character escapes that JSON.stringify writes, and so canonical text; not `/`. */
export const ESCAPED = table(byte => '"\\bfnrt'.includes(String.fromCharCode(byte)))

/** The bytes of `true`, `false` and `null`, indexed by their first byte. */
export const WORDS: readonly (readonly number[] | undefined)[] = Array.from({ length: 256 }, (_, byte) =>
  ['true', 'false', 'null'].map(word => [...Buffer.from(word)]).find(([first]) => first === byte),
)

export const isDigit = (byte: number): boolean => byte >= BYTE.zero && byte <= BYTE.nine

export const isBlank = (byte: number): boolean => byte === BYTE.space || byte === BYTE.tab

export const WORD_BYTES = 4

/**
 * Tests four bytes, given as one little-endian number, for bytes that need an escape in a string. Zero where none does; otherwise the
 * highest bit of the first such byte is set, no bit of the bytes before it, and any bits of the bytes after it.
 */
export function specials(word: number): number {
  // Swaps quotes and blanks, so that one comparison finds quotes and everything below a blank.
  const quoted = word ^ 0x02020202
  const backslash = word ^ 0x5c5c5c5c
  return (((quoted - 0x21212121) & ~quoted) | ((backslash - 0x01010101) & ~backslash)) & 0x80808080
}

/** Index of the first byte that `specials` found. */
export const firstByte = (found: number): number => (31 - Math.clz32(found & -found)) >> 3

const OPENING: ReadonlySet<number> = new Set([BYTE.openList, BYTE.openObject])
const CLOSING: ReadonlySet<number> = new Set([BYTE.closeList, BYTE.closeObject])

/** Position after the string whose opening quote is before `at`. */
function behindString(body: Uint8Array, at: number): number {
  let next = at
  while (next < body.length && body[next] !== BYTE.quote) next += body[next] === BYTE.backslash ? 2 : 1
  return next + 1
}

/** True where the body is nested deeper than `levels`. Call it before parsing: ten megabytes of brackets parse to hundreds of megabytes. */
export function isNestedDeeper(body: Uint8Array, levels: number): boolean {
  let open = 0
  for (let at = 0; at < body.length; ) {
    const byte = body[at]!
    if (byte === BYTE.quote) {
      at = behindString(body, at + 1)
      continue
    }
    if (OPENING.has(byte) && ++open > levels) return true
    if (CLOSING.has(byte)) open -= 1
    at += 1
  }
  return false
}
