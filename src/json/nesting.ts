// How deep a body is nested, before it is parsed: ten megabytes of brackets would take hundreds of megabytes as values.

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b])
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d])

/** Position behind the string that begins before `at`. */
function behindString(body: Uint8Array, at: number): number {
  let next = at
  while (next < body.length && body[next] !== QUOTE) next += body[next] === BACKSLASH ? 2 : 1
  return next + 1
}

/** True where more than so many levels are open at once. */
export function isNestedDeeper(body: Uint8Array, levels: number): boolean {
  let open = 0
  for (let at = 0; at < body.length; ) {
    const byte = body[at]!
    if (byte === QUOTE) {
      at = behindString(body, at + 1)
      continue
    }
    if (OPENING.has(byte) && ++open > levels) return true
    if (CLOSING.has(byte)) open -= 1
    at += 1
  }
  return false
}
