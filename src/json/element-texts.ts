// The elements of a page's body as text, each as it came: found without parsing them, so that one that cannot be read
// hides no other, and none of them loses anything on the way.
import { endOfString, skipSpace } from './exact-json.ts'

const [QUOTE, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x22, 0x5b, 0x5d, 0x7b, 0x7d]
const END_OF_PLAIN = /[,\]}\s]|$/g

const found = (pattern: RegExp, text: string, at: number): number => {
  pattern.lastIndex = at
  const match = pattern.exec(text)
  if (!match) throw new SyntaxError('a value without an end')
  return match.index
}

/** Where the value that begins at `at` ends. Does not mind how deep it is. */
function endOfValue(text: string, at: number): number {
  if (text[at] === '"') return endOfString(text, at)
  if (text[at] !== '{' && text[at] !== '[') return found(END_OF_PLAIN, text, at)
  let depth = 0
  for (let next = at; next < text.length; ) {
    const code = text.charCodeAt(next)
    if (code === QUOTE) {
      next = endOfString(text, next)
      continue
    }
    next += 1
    if (code === OPEN_OBJECT || code === OPEN_LIST) depth += 1
    else if (code === CLOSE_OBJECT || code === CLOSE_LIST) depth -= 1
    if (depth === 0) return next
  }
  throw new SyntaxError('a value without an end')
}

/** Calls `each` with where every member or element of the container at `at` begins; it returns where that one ends. */
function walk(text: string, at: number, close: string, each: (start: number) => number): void {
  let next = skipSpace(text, at + 1)
  while (text[next] !== close) {
    next = skipSpace(text, each(next))
    if (text[next] === ',') next = skipSpace(text, next + 1)
    else if (text[next] !== close) throw new SyntaxError('neither a comma nor an end')
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
 * Texts of the elements of the arrays under `keys` at the top of a body, one array after the other; an object stands for
 * itself alone, and what is neither has none. Of a key that stands twice the last one counts, as for `JSON.parse`.
 * @throws SyntaxError where the body is no JSON object; the message quotes nothing
 */
export function elementTexts(body: string, keys: readonly string[]): string[] {
  const arrays = new Map<string, string[]>()
  const start = skipSpace(body, 0)
  if (body[start] !== '{') throw new SyntaxError('the body is no object')
  walk(body, start, '}', at => {
    const end = endOfString(body, at)
    const key = JSON.parse(body.slice(at, end)) as string
    const value = skipSpace(body, skipSpace(body, end) + 1)
    if (keys.includes(key)) arrays.set(key, elements(body, value))
    return endOfValue(body, value)
  })
  return keys.flatMap(key => arrays.get(key) ?? [])
}
