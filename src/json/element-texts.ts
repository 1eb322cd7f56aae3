// Splits a page's body into the texts of its elements without parsing them, so that an unreadable element does not affect the others.
import { endOfString, endOfValue, skipSpace } from './tokens.ts'

/** Calls `each` with the start of every member or element of the container at `at`; `each` returns the end of that one. */
function walk(text: string, at: number, close: string, each: (start: number) => number): void {
  let next = skipSpace(text, at + 1)
  while (text[next] !== close) {
    next = skipSpace(text, each(next))
    if (text[next] === ',') next = skipSpace(text, next + 1)
    else if (text[next] !== close) throw new SyntaxError('a comma or the end is missing')
  }
}

function elements(text: string, at: number): string[] {
  if (text[at] === '{') return [text.slice(at, endOfValue(text, at))]
  const texts: string[] = []
  if (text[at] !== '[') return texts
  walk(text, at, ']', start => {
    const end = endOfValue(text, start)
    texts.push(text.slice(start, end))
    return end
  })
  return texts
}

/**
 * Texts of the elements of the top-level arrays under `keys`, one array after the other. An object counts as one element, any other value
 * as none. Of duplicate keys the last one counts, as for `JSON.parse`.
 * @throws SyntaxError where the body is not a JSON object; the message quotes nothing
 */
export function elementTexts(body: string, keys: readonly string[]): string[] {
  const arrays = new Map<string, string[]>()
  const start = skipSpace(body, 0)
  if (body[start] !== '{') throw new SyntaxError('the body is not an object')
  walk(body, start, '}', at => {
    const end = endOfString(body, at)
    const key = JSON.parse(body.slice(at, end)) as string
    const value = skipSpace(body, skipSpace(body, end) + 1)
    if (keys.includes(key)) arrays.set(key, elements(body, value))
    return endOfValue(body, value)
  })
  return keys.flatMap(key => arrays.get(key) ?? [])
}
