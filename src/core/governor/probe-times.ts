// When the vendor may be probed again: at once at first, because a contradiction is settled by one probe and a new period by two; then after
// intervals that double with each probe of the last hour. So at most eight fit into an hour, whatever the answers say.

const PROBES_AT_ONCE = 3
/** A run waits this many sixtieths of the hour for a probe at most; otherwise the quota counts as spent. */
const MAX_WAIT = 10

/** The probes of the hour before `atMs`, and one more. */
export const withProbe = (probes: readonly number[], atMs: number, hourMs: number): number[] => [
  ...probes.filter(probedAtMs => probedAtMs > atMs - hourMs),
  atMs,
]

/** The time of the next probe, ms, not before `earliestMs`; null where a run does not wait for it. */
export function nextProbeMs(
  probes: readonly number[],
  earliestMs: number,
  { nowMs, hourMs }: { nowMs: number; hourMs: number },
): number | null {
  const recent = probes.filter(atMs => atMs > nowMs - hourMs)
  const waits = recent.length - PROBES_AT_ONCE
  const free = waits < 0 ? nowMs : recent.at(-1)! + (hourMs / 60) * 2 ** waits
  const atMs = Math.max(earliestMs, free)
  return atMs > nowMs + (MAX_WAIT * hourMs) / 60 ? null : atMs
}
