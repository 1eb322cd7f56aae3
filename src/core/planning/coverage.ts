// Coverage: which seconds of an agent's `ts` axis have been read to the end. A set of closed intervals of whole
// seconds, sorted and disjoint. Only completed windows add to it, never rows: an event, a refresh or a wrong `ts` must
// not move it.

/** Closed: includes both seconds. */
export interface Interval {
  from: number
  to: number
}

export type Coverage = readonly Interval[]

/** Adds an interval; overlapping and adjacent ones merge. An empty interval (from > to) adds nothing. */
export function cover(coverage: Coverage, added: Interval): Coverage {
  if (added.from > added.to) return coverage
  const touches = (interval: Interval) => interval.from <= added.to + 1 && interval.to >= added.from - 1
  const merged = coverage
    .filter(touches)
    .reduce(
      (whole, interval) => ({ from: Math.min(whole.from, interval.from), to: Math.max(whole.to, interval.to) }),
      added,
    )
  return [...coverage.filter(interval => !touches(interval)), merged].sort((a, b) => a.from - b.from)
}

export const coverAll = (intervals: Iterable<Interval>): Coverage =>
  [...intervals].reduce<Coverage>((coverage, interval) => cover(coverage, interval), [])

/** Returns the parts of `wanted` that are not covered, oldest first. */
export function gaps(coverage: Coverage, wanted: Interval): Interval[] {
  const found: Interval[] = []
  let from = wanted.from
  for (const interval of coverage) {
    if (interval.to < from) continue
    if (interval.from > wanted.to) break
    if (interval.from > from) found.push({ from, to: interval.from - 1 })
    from = interval.to + 1
  }
  if (from <= wanted.to) found.push({ from, to: wanted.to })
  return found
}

/** Returns the coverage without an interval. */
export const without = (coverage: Coverage, taken: Interval): Coverage =>
  coverage.flatMap(interval =>
    interval.to < taken.from || interval.from > taken.to
      ? [interval]
      : [
          { from: interval.from, to: Math.min(interval.to, taken.from - 1) },
          { from: Math.max(interval.from, taken.to + 1), to: interval.to },
        ].filter(({ from, to }) => from <= to),
  )

/**
 * Returns the second, at least `from`, after the last known conversation: everything later was read and was empty; null if nothing was read, or it is not known. A poll
 * begins there: it bills nothing more, and finds what a stalled mirror lacked. `seenThroughSec`: the last second that may hold a conversation; null: none has.
 */
export function quietFrom(coverage: Coverage, from: number, seenThroughSec: number | null | undefined): number | null {
  const last = coverage.at(-1)
  if (seenThroughSec === undefined || last === undefined) return null
  const since = Math.max(from, (seenThroughSec ?? -1) + 1)
  return since >= last.from && since <= last.to ? since : null
}
