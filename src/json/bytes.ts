// The bytes that JSON is written with.

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

/** What stands in a string for itself. */
export const PLAIN = table(byte => byte >= BYTE.space && byte !== BYTE.quote && byte !== BYTE.backslash)

/** Escapes of what canonical text escapes, too. */
export const ESCAPED = table(byte => '"\\bfnrt'.includes(String.fromCharCode(byte)))

/** The words, by their first bytes. */
export const WORDS: readonly (readonly number[] | undefined)[] = Array.from({ length: 256 }, (_, byte) =>
  ['true', 'false', 'null'].map(word => [...Buffer.from(word)]).find(([first]) => first === byte),
)

export const isDigit = (byte: number): boolean => byte >= BYTE.zero && byte <= BYTE.nine

export const isBlank = (byte: number): boolean => byte === BYTE.space || byte === BYTE.tab

export const WORD_BYTES = 4

/**
 * Which of four bytes, seen as one number of which the first is the lowest, may not stand for themselves in a string: the highest bit
 * of the first that may not, none of those before it, and any of those behind it; zero where all may.
 */
export function specials(word: number): number {
  // Quotes and blanks change places, so that one comparison finds quotes and all that is below a blank.
  const quoted = word ^ 0x02020202
  const backslash = word ^ 0x5c5c5c5c
  return (((quoted - 0x21212121) & ~quoted) | ((backslash - 0x01010101) & ~backslash)) & 0x80808080
}

/** Of four bytes, the first that `specials` says something of. */
export const firstByte = (found: number): number => (31 - Math.clz32(found & -found)) >> 3
