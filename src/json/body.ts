// A response body as JSON: parsed completely, or quickly for its shape.
import { isAscii, isUtf8 } from 'node:buffer'

export interface JsonBody {
  value: unknown
  /** True where some bytes are not UTF-8: `value` has U+FFFD in their place, the body itself is unchanged. */
  invalidUtf8: boolean
  /** False where strings and keys with characters beyond ASCII were not decoded. */
  exact: boolean
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's message quotes the text, so it is dropped.
    return undefined
  }
}

/** Parses a body completely; undefined where it is not JSON. */
export function parseBody(body: Buffer): JsonBody | undefined {
  // TextDecoder removes a byte order mark, which JSON.parse refuses.
  const value = parsed(new TextDecoder().decode(body))
  return value === undefined ? undefined : { value, invalidUtf8: !isUtf8(body), exact: true }
}

/**
 * Reads a body for its shape: keys, types, numbers, and ASCII strings. Each byte beyond ASCII becomes a character of its own: a page of
 * conversations parses twice as fast, and its structure is the same, because JSON's syntax is ASCII.
 */
export function parseShape(body: Buffer): JsonBody | undefined {
  const value = parsed(body.toString('latin1'))
  if (value === undefined) return parseBody(body)
  return { value, invalidUtf8: !isUtf8(body), exact: isAscii(body) }
}

/** True for a text that `parseShape` decodes correctly: ASCII only. */
export const isPlainText = (text: string): boolean => isAscii(Buffer.from(text))

/** Describes a body that is not JSON for a message; distinguishes truncated or damaged JSON from anything else. */
export function describeNonJson(body: Buffer): string {
  const start = body.subarray(0, 100).toString('latin1').trimStart()
  if (start === '') return `nothing (${body.length} bytes)`
  if (/^[[{]/.test(start)) return `JSON that ends early or is damaged (${body.length} bytes)`
  return `${start.startsWith('<') ? 'a web page' : 'something'} that is not JSON (${body.length} bytes)`
}
