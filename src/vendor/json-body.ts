import { isUtf8 } from 'node:buffer'

export interface JsonBody {
  value: unknown
  /** Some bytes are no UTF-8; they read as U+FFFD here, and are as they came in the body itself. */
  invalidUtf8: boolean
}

/** Reads a body as JSON; undefined where it is none. The parser's own message is not passed on: it quotes the text. */
export function parseBody(body: Buffer): JsonBody | undefined {
  try {
    // TextDecoder takes off a byte order mark, which JSON.parse refuses.
    return { value: JSON.parse(new TextDecoder().decode(body)), invalidUtf8: !isUtf8(body) }
  } catch {
    return undefined
  }
}

/** Tells a body that begins as JSON, and so was cut off or damaged, from one that never was. */
export function describeNonJson(body: Buffer): string {
  const start = body.subarray(0, 100).toString('latin1').trimStart()
  if (start === '') return `nothing (${body.length} bytes)`
  if (/^[[{]/.test(start)) return `JSON that ends early or is damaged (${body.length} bytes)`
  return `${start.startsWith('<') ? 'a web page' : 'something'} that is not JSON (${body.length} bytes)`
}
