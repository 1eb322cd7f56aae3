// Medians of interleaved rounds, so that other load on the machine affects all variants alike.

export interface BenchOptions {
  records: number
  rounds: number
  agents: number
  kills: number
  seed: number
  rows: number
  /** Simulated days; null for as many as the bench's published figures. */
  days: number | null
  /** Folder in which a bench keeps the warehouse that it builds, for later runs; null if it is removed. */
  home: string | null
  /** Settings of a workspace that replace the defaults, as JSON. */
  settings: object
}

export async function seconds(work: () => Promise<unknown> | unknown): Promise<number> {
  const begun = performance.now()
  await work()
  return (performance.now() - begun) / 1_000
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

export const rounded = (value: number, digits = 2): number => Number(value.toFixed(digits))
