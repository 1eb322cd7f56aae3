// Random choices that depend only on a seed.

export interface Draws {
  /** Returns a whole number from `low` to `high`, both included. */
  between(low: number, high: number): number
  chance(share: number): boolean
  pick<T>(choices: readonly T[]): T
  /** Returns the choices in random order. */
  shuffled<T>(choices: readonly T[]): T[]
  /** Returns a number in [0, 1). */
  fraction(): number
}

/** Returns a Mulberry32 generator: 32 bits of state, the same sequence on every machine. */
export function drawsOf(seed: number): Draws {
  let state = (seed * 0x9e3779b1) >>> 0
  const fraction = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (low: number, high: number) => low + Math.floor(fraction() * (high - low + 1))
  const pick = <T>(choices: readonly T[]): T => choices[between(0, choices.length - 1)]!
  return {
    fraction,
    between,
    pick,
    chance: share => fraction() < share,
    shuffled(choices) {
      const left = [...choices]
      return choices.map(() => left.splice(between(0, left.length - 1), 1)[0]!)
    },
  }
}
