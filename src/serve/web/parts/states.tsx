// What stands in the place of an answer: while it loads, when there is none, and when it failed.
import type { ComponentChildren } from 'preact'
import { useErrorBoundary } from 'preact/hooks'
import type { Problem } from '../api/client.ts'
import { BROKEN } from '../api/resource.ts'

/** Has the size of what will stand there, and shows only after 100 ms. */
export const Skeleton = ({ height }: { height: number }) => (
  <div class="skeleton" style={{ height: `${height}px` }} role="status" aria-label="Loading" />
)

export function Failed({ problem, again }: { problem: Problem; again: () => void }) {
  return (
    <div class="failed" role="alert">
      <p>{problem.what}</p>
      {problem.hint && <p class="note">{problem.hint}</p>}
      <button type="button" onClick={again}>
        Try again
      </button>
    </div>
  )
}

/** What cannot be drawn fails alone: without this it would leave the whole page half drawn. */
export function Guarded({ children }: { children: ComponentChildren }) {
  const [error, again] = useErrorBoundary(cause => console.error(cause))
  return error ? <Failed problem={BROKEN} again={again} /> : children
}

export const Empty = ({ children }: { children: ComponentChildren }) => <div class="empty">{children}</div>

interface AnsweredProps<T> {
  answer: { data: T | null; problem: Problem | null; isLoading: boolean; again: () => void }
  /** Height in pixels of what will stand there. */
  height: number
  children: (data: T) => ComponentChildren
}

/** Shows an answer, or its state. An older answer stays while a newer one loads, and when that fails says so. */
export function Answered<T>({ answer: { data, problem, isLoading, again }, height, children }: AnsweredProps<T>) {
  if (problem && (data === null || !isLoading)) return <Failed problem={problem} again={again} />
  if (data === null) return <Skeleton height={height} />
  return <div class={isLoading ? 'stack stale' : 'stack'}>{children(data)}</div>
}
