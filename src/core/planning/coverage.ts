// Coverage: the seconds of an agent's `ts` axis that have been read completely. It is a set of closed intervals of
// whole seconds, sorted and disjoint. Only completed windows add to it, never rows: an event, a refresh or a wrong `ts`
// must not move it.

/** A closed interval, which includes both seconds. */
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
 * Returns the second, at least `from`, after the last known conversation, if everything later was read and was empty;
 * null if nothing was read, or this is unknown. A poll begins there: it bills nothing more, and finds conversations
 * that a stalled mirror lacked. `seenThroughSec`: last second that may contain a conversation, or null.
 */
export function quietFrom(coverage: Coverage, from: number, seenThroughSec: number | null | undefined): number | null {
  const last = coverage.at(-1)
  if (seenThroughSec === undefined || last === undefined) return null
  const since = Math.max(from, (seenThroughSec ?? -1) + 1)
  return since >= last.from && since <= last.to ? since : null
}
