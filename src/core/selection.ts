// Windows over ids: in pieces, and without what an earlier run has under way already.
import { DAY } from './time.ts'
import { newProgress, openWindow, type WindowKind, type WindowProgress } from './windows.ts'

/** Conversation ids by agent. */
export type IdsByAgent = Readonly<Record<string, readonly string[]>>

/** Ids in one window: each of its pages carries the window, ids and all. */
const MAX_IDS_PER_WINDOW = 1_000

/** After a day, what an unfinished selection has brought is no longer what was asked for. */
const RESUMES_WITHIN_MS = DAY

export interface IdWindows {
  resumed: WindowProgress[]
  opened: WindowProgress[]
}

/**
 * Windows of `kind` for these ids of one agent. Ids that a run was killed over are not bought twice when the same ones are
 * asked for again soon.
 */
export function idWindows(options: {
  agentId: string
  kind: WindowKind
  ids: readonly string[]
  /** Unfinished windows of that agent. */
  open: readonly WindowProgress[]
  nowMs: number
}): IdWindows {
  const { agentId, kind, ids, open, nowMs } = options
  const asked = new Set(ids)
  const resumed = open.filter(
    ({ window }) =>
      window.kind === kind &&
      window.openedAtMs > nowMs - RESUMES_WITHIN_MS &&
      // What is planned without being asked for is worth finishing whatever is asked for now.
      (kind !== 'selected' || window.ids!.every(id => asked.has(id))),
  )
  for (const id of resumed.flatMap(({ window }) => window.ids!)) asked.delete(id)
  const left = [...asked]
  const opened = Array.from({ length: Math.ceil(left.length / MAX_IDS_PER_WINDOW) }, (_, index) => {
    const piece = left.slice(index * MAX_IDS_PER_WINDOW, (index + 1) * MAX_IDS_PER_WINDOW)
    // Pieces are told apart by the moment in their names.
    return newProgress(openWindow({ agentId, kind, fromSec: null, toSec: 0, openedAtMs: nowMs + index, ids: piece }))
  })
  return { resumed, opened }
}
