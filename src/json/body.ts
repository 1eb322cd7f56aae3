import { isAscii, isUtf8 } from 'node:buffer'

export interface JsonBody {
  value: unknown
  /** Some bytes are no UTF-8; they read as U+FFFD here, and are as they came in the body itself. */
  invalidUtf8: boolean
  /** False where texts and keys beyond ASCII were not read as what they are. */
  exact: boolean
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own message is not passed on: it quotes the text.
    return undefined
  }
}

/** Reads a body as JSON; undefined where it is none. */
export function parseBody(body: Buffer): JsonBody | undefined {
  // TextDecoder takes off a byte order mark, which JSON.parse refuses.
  const value = parsed(new TextDecoder().decode(body))
  return value === undefined ? undefined : { value, invalidUtf8: !isUtf8(body), exact: true }
}

/**
 * Reads a body for its shape: keys, types, numbers, and every text that is ASCII. Each byte beyond ASCII is taken for a
 * character of its own, which a page of conversations is parsed twice as fast with; none of its syntax is beyond ASCII.
 */
export function parseShape(body: Buffer): JsonBody | undefined {
  const value = parsed(body.toString('latin1'))
  if (value === undefined) return parseBody(body)
  return { value, invalidUtf8: !isUtf8(body), exact: isAscii(body) }
}

/** True for a text that `parseShape` reads as it is. */
export const isPlainText = (text: string): boolean => isAscii(Buffer.from(text))

/** Tells a body that begins as JSON, and so was cut off or damaged, from one that never was. */
export function describeNonJson(body: Buffer): string {
  const start = body.subarray(0, 100).toString('latin1').trimStart()
  if (start === '') return `nothing (${body.length} bytes)`
  if (/^[[{]/.test(start)) return `JSON that ends early or is damaged (${body.length} bytes)`
  return `${start.startsWith('<') ? 'a web page' : 'something'} that is not JSON (${body.length} bytes)`
}
