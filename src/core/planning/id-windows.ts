// Windows by id: requested ids are split into pieces, after unfinished windows of earlier runs have claimed theirs.
import { DAY } from '../time.ts'
import { newProgress, openWindow, type Window, type WindowKind, type WindowProgress } from './windows.ts'

/** Conversation ids by agent, as plain JSON. Pairs, because an agent's id may be any text, such as `constructor`. */
export type IdsByAgent = readonly (readonly [agentId: string, ids: readonly string[]])[]

export interface ConversationKey {
  agentId: string
  id: string
}

export const conversationKeys = (ids: IdsByAgent): ConversationKey[] =>
  ids.flatMap(([agentId, own]) => own.map(id => ({ agentId, id })))

/** Returns the different ids of each agent. */
export function groupedByAgent(keys: Iterable<ConversationKey>): Map<string, string[]> {
  const groups = new Map<string, Set<string>>()
  for (const { agentId, id } of keys) groups.set(agentId, (groups.get(agentId) ?? new Set()).add(id))
  return new Map([...groups].map(([agentId, ids]) => [agentId, [...ids]]))
}

/** Limits the heads of landed pages, each of which repeats all ids of its window. */
const MAX_IDS_PER_WINDOW = 1_000

/** Older unfinished windows are not resumed, because their landed pages are too old for a new request. */
const RESUMES_WITHIN_MS = DAY

/** True for a window that a later run resumes if it is unfinished. */
export const isResumable = ({ openedAtMs }: Pick<Window, 'openedAtMs'>, nowMs: number): boolean =>
  openedAtMs > nowMs - RESUMES_WITHIN_MS

interface IdWindows {
  resumed: WindowProgress[]
  opened: WindowProgress[]
}

/** Returns the progress without these ids. Landed pages refer to ids by position, so the window must not be continued. */
export function withoutIds(progress: WindowProgress, erased: ReadonlySet<string>): WindowProgress {
  const { window, asked, again } = progress
  const isKept = (id: string) => !erased.has(id)
  const ids = window.ids ?? []
  return {
    ...progress,
    window: { ...window, ids: ids.filter(isKept), ...(window.known && { known: window.known.filter(isKept) }) },
    asked: asked - ids.slice(0, asked).filter(id => erased.has(id)).length,
    ...(again && { again: again.map(group => group.filter(isKept)).filter(group => group.length > 0) }),
  }
}

/** Returns windows of `kind` for these ids of one agent. Resumes unfinished ones, so that no id is billed twice. */
export function idWindows(options: {
  agentId: string
  kind: WindowKind
  ids: readonly string[]
  /** Those of `ids` whose refresh is measured; omitted for none. */
  known?: readonly string[] | undefined
  /** Unfinished windows of that agent. */
  open: readonly WindowProgress[]
  nowMs: number
}): IdWindows {
  const { agentId, kind, ids, open, nowMs } = options
  const measured = new Set(options.known)
  const asked = new Set(ids)
  const resumed = open.filter(
    ({ window }) =>
      window.kind === kind &&
      isResumable(window, nowMs) &&
      // Windows of a refresh or a sample are resumed regardless of the ids that are requested now.
      (kind !== 'selected' || window.ids!.every(id => asked.has(id))),
  )
  for (const id of resumed.flatMap(({ window }) => window.ids!)) asked.delete(id)
  const left = [...asked]
  const opened = Array.from({ length: Math.ceil(left.length / MAX_IDS_PER_WINDOW) }, (_, index) => {
    const piece = left.slice(index * MAX_IDS_PER_WINDOW, (index + 1) * MAX_IDS_PER_WINDOW)
    const known = piece.filter(id => measured.has(id))
    // The time in the windows' names distinguishes the pieces.
    const opened = { agentId, kind, fromSec: null, toSec: 0, openedAtMs: nowMs + index, ids: piece }
    return newProgress(openWindow({ ...opened, ...(known.length > 0 && { known }) }))
  })
  return { resumed, opened }
}
