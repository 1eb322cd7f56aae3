// Work that takes much of DuckDB's memory for some minutes, such as a publication. A load that runs out of memory meanwhile waits for its end.
import type { Writer } from './connection.ts'

const running = new WeakMap<Writer, Set<Promise<unknown>>>()

/** Runs `work`, for whose end `memoryReleased` waits. */
export async function usingMemory<T>(writer: Writer, work: () => Promise<T>): Promise<T> {
  const works = running.get(writer) ?? new Set()
  running.set(writer, works)
  const result = work()
  const settled = result.catch(() => {})
  works.add(settled)
  try {
    return await result
  } finally {
    works.delete(settled)
  }
}

/** Waits for the end of the work that runs now. @returns false if none does */
export async function memoryReleased(writer: Writer): Promise<boolean> {
  const works = [...(running.get(writer) ?? [])]
  await Promise.all(works)
  return works.length > 0
}
