// A page of conversations without the records of forgotten people. Everything else of it stays, byte for byte: its frontier,
// its bill and the number of returned records, so that no range is read again and no figure of cost changes.
import { isForgotten } from '../../catalog/contacts.ts'
import { conversation } from '../../catalog/conversation/conversation.ts'
import { compileInspection, isObject } from '../../catalog/inspection/inspect.ts'
import type { Forgotten } from '../../core/identifiers.ts'
import type { PageFacts } from '../../core/planning/windows.ts'
import { parseBody } from '../../json/body.ts'
import { endOfString, endOfValue, skipSpace } from '../../json/tokens.ts'
import type { PageHead } from '../../landing/page.ts'

const inspect = compileInspection(conversation)

interface Span {
  from: number
  to: number
}

/** Returns where the elements of the list `data` are in a body. The text has one character per byte. @throws SyntaxError */
function elementsIn(text: string): Span[] {
  const elements: Span[] = []
  const begin = skipSpace(text, text.startsWith('\u00ef\u00bb\u00bf') ? 3 : 0)
  if (text[begin] !== '{') return elements
  for (let at = skipSpace(text, begin + 1); text[at] === '"'; ) {
    const keyEnd = endOfString(text, at)
    const isData = JSON.parse(text.slice(at, keyEnd)) === 'data'
    const value = skipSpace(text, skipSpace(text, keyEnd) + 1)
    if (isData && text[value] === '[') {
      // Of two lists, the last one counts.
      elements.length = 0
      for (let next = skipSpace(text, value + 1); text[next] !== ']'; ) {
        const to = endOfValue(text, next)
        elements.push({ from: next, to })
        next = skipSpace(text, to)
        if (text[next] === ',') next = skipSpace(text, next + 1)
      }
    }
    const end = skipSpace(text, endOfValue(text, value))
    if (text[end] !== ',') break
    at = skipSpace(text, end + 1)
  }
  return elements
}

/** Removes elements of a list from a body, each with the comma after it, or before it at the end. */
function without(body: Buffer, elements: readonly Span[], isDropped: readonly boolean[]): Buffer {
  const parts: Buffer[] = []
  const kept = elements.filter((_, index) => !isDropped[index])
  parts.push(body.subarray(0, elements[0]!.from))
  for (const [index, { from, to }] of kept.entries()) {
    if (index > 0) parts.push(Buffer.from(','))
    parts.push(body.subarray(from, to))
  }
  parts.push(body.subarray(elements.at(-1)!.to))
  return Buffer.concat(parts)
}

/** Stands for an id in the head of a page by id. Later pages refer to the ids by position, so each keeps its place. */
const placeholder = (index: number): string => `forgotten-${index}`

/** Returns the head's facts and query without the ids of forgotten conversations; null if they name none. */
function withoutNames(head: PageHead, isGone: (id: string) => boolean): Pick<PageHead, 'facts' | 'request'> | null {
  const { facts, request } = head
  const asked = [...new Set([...(facts?.window.ids ?? []), ...(facts?.window.known ?? []), ...(facts?.missing ?? [])])]
  const gone = new Map(asked.flatMap((id, index) => (isGone(id) ? [[id, placeholder(index)] as const] : [])))
  if (facts === null || gone.size === 0) return null
  const rename = (ids: readonly string[]) => ids.map(id => gone.get(id) ?? id)
  const { window } = facts
  const renamed: PageFacts = {
    ...facts,
    missing: rename(facts.missing),
    window: {
      ...window,
      ...(window.ids && { ids: rename(window.ids) }),
      ...(window.known && { known: rename(window.known) }),
    },
  }
  const query = Object.entries(request.query).map(([name, text]) => [name, rename(text.split(',')).join(',')])
  return { facts: renamed, request: { ...request, query: Object.fromEntries(query) } }
}

/**
 * Returns a landed or landing page of conversations without the records and ids of forgotten people; null if it has none.
 * A body that cannot be parsed has no records. `begun`: ids of conversations that only their contact identifies.
 */
export function withoutForgotten(
  forgotten: Forgotten,
  { head, body }: { head: PageHead; body: Buffer },
): { head: PageHead; body: Buffer; begun: string[] } | null {
  const { workspaceId, place } = head
  const { agentId } = place
  if (forgotten.isEmpty || place.stream !== 'conversations') return null
  const isGone = (id: string) => forgotten.hasConversation({ workspaceId, agentId, id })
  const named = withoutNames(head, isGone)
  const data = dataIn(body)
  const isDropped = data.map(record => isForgotten(forgotten, { workspaceId, agentId }, record))
  if (!isDropped.includes(true)) return named && { head: { ...head, ...named }, body, begun: [] }
  const { removed, awkward } = head.notes
  const notes = inspect(
    data.filter((_, index) => !isDropped[index]),
    head.sentAtServerMs,
  )
  // Notes about the whole answer, which are in parentheses, still hold.
  notes.awkward.push(...awkward.filter(path => path.startsWith('(')))
  if (removed) notes.removed = removed
  const dropped = isDropped.filter(Boolean).length
  return {
    head: { ...head, ...named, notes, forgotten: (head.forgotten ?? 0) + dropped },
    body: without(body, elementsIn(body.toString('latin1')), isDropped),
    begun: data.flatMap((record, index) => {
      const id = isDropped[index] ? (record as { ID?: unknown }).ID : null
      return id == null || isGone(String(id)) ? [] : [String(id)]
    }),
  }
}

function dataIn(body: Buffer): unknown[] {
  const value = parseBody(body)?.value
  return isObject(value) && Array.isArray(value.data) ? value.data : []
}
