// The canonical text of what was just parsed, as `canonicalJson` gives it, in two thirds of its time: of a string that was sent
// without an escape nothing has to be escaped, and to look for that is most of what JSON.stringify does.
import { canonicalJson, inOrder } from './canonical.ts'
import { endOfString } from './exact-json.ts'

/** With more strings that have escapes, all are written the long way. */
const MOST_ESCAPED = 40

/** Lengths of the strings of a text that are sent with an escape; null where they are many. Any other string has none. */
function escapedLengths(text: string): ReadonlySet<number> | null {
  const lengths = new Set<number>()
  let count = 0
  for (let at = text.indexOf('\\'); at >= 0; ) {
    if (++count > MOST_ESCAPED) return null
    const begin = text.lastIndexOf('"', at)
    const end = endOfString(text, begin)
    lengths.add((JSON.parse(text.slice(begin, end)) as string).length)
    at = text.indexOf('\\', end)
  }
  return lengths
}

function quoted(text: string, escaped: ReadonlySet<number>): string {
  return escaped.size > 0 && escaped.has(text.length) ? JSON.stringify(text) : `"${text}"`
}

function write(value: unknown, escaped: ReadonlySet<number>): string {
  if (typeof value === 'string') return quoted(value, escaped)
  if (typeof value !== 'object' || value === null) return String(value)
  let text = ''
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) text += (index === 0 ? '' : ',') + write(value[index], escaped)
    return `[${text}]`
  }
  for (const key of inOrder(Object.keys(value))) {
    const inner = write((value as Record<string, unknown>)[key], escaped)
    text += `${text === '' ? '' : ','}${quoted(key, escaped)}:${inner}`
  }
  return `{${text}}`
}

/** `value` is what `text` reads as, or a part of it, and every number in it is finite. */
export function canonicalText(value: unknown, text: string): string {
  const escaped = escapedLengths(text)
  const written = escaped ? write(value, escaped) : null
  // Half of a pair was sent as an escape, and is to be mended.
  return written === null || (escaped!.size > 0 && written.includes('\\ud')) ? canonicalJson(value) : written
}
