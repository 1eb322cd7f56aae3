// Nesting of a body before it is parsed: ten megabytes of brackets would take hundreds of megabytes as values.

import { BYTE } from './bytes.ts'

const OPENING: ReadonlySet<number> = new Set([BYTE.openList, BYTE.openObject])
const CLOSING: ReadonlySet<number> = new Set([BYTE.closeList, BYTE.closeObject])

/** Position after the string that begins before `at`. */
function behindString(body: Uint8Array, at: number): number {
  let next = at
  while (next < body.length && body[next] !== BYTE.quote) next += body[next] === BYTE.backslash ? 2 : 1
  return next + 1
}

/** True where the body is nested deeper than `levels`. */
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
