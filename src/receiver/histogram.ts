// How long things took, counted by bounds as Prometheus wants it.

/** Seconds. The vendor gives up after 60. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60]

export class Histogram {
  private readonly counts = new Array<number>(BOUNDS.length + 1).fill(0)
  private sum = 0

  add(seconds: number): void {
    const at = BOUNDS.findIndex(bound => seconds <= bound)
    this.counts[at < 0 ? BOUNDS.length : at]! += 1
    this.sum += seconds
  }

  /** Lines of a metric of that name. */
  lines(name: string): string[] {
    let total = 0
    const buckets = this.counts.map((count, at) => {
      total += count
      return `${name}_bucket{le="${BOUNDS[at] ?? '+Inf'}"} ${total}`
    })
    return [...buckets, `${name}_sum ${this.sum}`, `${name}_count ${total}`]
  }
}
