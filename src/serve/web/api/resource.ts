// An answer that a part of the page waits for. While a newer one is loaded, the older one stays.
import { type ReadonlySignal, signal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { asOf, type Problem, RequestFailed } from './client.ts'

export interface Loading<T> {
  data: T | null
  problem: Problem | null
  isLoading: boolean
}

const CACHED = 200
const AGAIN_MS = 15_000

export const BROKEN: Problem = { code: 'PAGE', what: 'This part of the page failed.', hint: 'Reload the page.' }

export const problemOf = (error: unknown): Problem => (error instanceof RequestFailed ? error.problem : BROKEN)

interface Entry {
  state: ReturnType<typeof signal<Loading<unknown>>>
  /** The as-of that it was loaded at. */
  of: string | null
  running: boolean
}

/** By what was asked. The least recently used go first. */
const entries = new Map<string, Entry>()

function entryOf(key: string): Entry {
  const known = entries.get(key)
  const entry = known ?? {
    state: signal<Loading<unknown>>({ data: null, problem: null, isLoading: true }),
    of: null,
    running: false,
  }
  entries.delete(key)
  entries.set(key, entry)
  for (const old of entries.keys()) {
    if (entries.size <= CACHED) break
    entries.delete(old)
  }
  return entry
}

let running = 0

/** Assistive technology waits while the page is busy, and so do tests. */
function busy(change: 1 | -1): void {
  running += change
  document.body.ariaBusy = String(running > 0)
}

async function load<T>(entry: Entry, work: () => Promise<T>): Promise<void> {
  if (entry.running) return
  entry.running = true
  busy(1)
  const { state } = entry
  state.value = { ...state.value!, isLoading: true }
  const of = asOf.peek()
  try {
    state.value = { data: await work(), problem: null, isLoading: false }
    entry.of = of ?? asOf.peek()
  } catch (error) {
    state.value = { data: state.value.data, problem: problemOf(error), isLoading: false }
  } finally {
    entry.running = false
    busy(-1)
  }
}

/** Returns an answer that needs another one first, whose failure is its own. */
export const following = <T>(first: Loading<unknown> & { again: () => void }, then: ReturnType<typeof useAnswer<T>>) =>
  first.problem && first.data === null
    ? { ...then, problem: first.problem, isLoading: false, again: first.again }
    : then

/** Returns the answer of `work` and a function that asks again. `key`: equal for equal questions; null asks nothing. */
export function useAnswer<T>(key: string | null, work: () => Promise<T>): Loading<T> & { again: () => void } {
  const entry = useMemo(() => entryOf(key ?? 'nothing'), [key])
  const before = useRef<T | null>(null)
  const now = asOf.value
  useEffect(() => {
    if (key === null) return
    if (entry.state.value!.data === null || entry.of !== now) void load(entry, work)
  }, [entry, now])
  const state = (entry.state as ReadonlySignal<Loading<T>>).value
  const { isLoading, problem } = state
  // A newer snapshot may have been noticed while this was loaded from the older one.
  useEffect(() => {
    if (key !== null && !isLoading && problem === null && entry.of !== asOf.peek()) void load(entry, work)
  }, [isLoading])
  useEffect(() => {
    if (key === null || !problem?.isPassing) return
    const timer = setTimeout(() => void load(entry, work), AGAIN_MS)
    return () => clearTimeout(timer)
  }, [problem])
  // The answer to the question before stays until there is one to this.
  if (state.data !== null) before.current = state.data
  const data = state.data ?? (state.isLoading && key !== null ? before.current : null)
  return { ...state, data, again: () => void load(entry, work) }
}
