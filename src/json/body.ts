// Parses a response body as JSON.
import { isAscii, isUtf8 } from 'node:buffer'

export interface JsonBody {
  value: unknown
  /** True if some bytes are not UTF-8: `value` has U+FFFD in their place, the body itself is unchanged. */
  invalidUtf8: boolean
}

/** Parses a body; undefined if it is not JSON. */
export function parseBody(body: Buffer): JsonBody | undefined {
  // A text with one byte per character is parsed twice as fast. TextDecoder removes a byte order mark, which JSON.parse refuses.
  const text = isAscii(body) ? body.toString('latin1') : new TextDecoder().decode(body)
  try {
    return { value: JSON.parse(text), invalidUtf8: !isUtf8(body) }
  } catch {
    // The parser's message quotes the text, so it is dropped.
    return undefined
  }
}

/** Describes a body that is not JSON for a message; distinguishes truncated or damaged JSON from anything else. */
export function describeNonJson(body: Buffer): string {
  const start = body.subarray(0, 100).toString('latin1').trimStart()
  if (start === '') return `nothing (${body.length} bytes)`
  if (/^[[{]/.test(start)) return `JSON that ends early or is damaged (${body.length} bytes)`
  return `${start.startsWith('<') ? 'a web page' : 'something'} that is not JSON (${body.length} bytes)`
}
