// Stateless randomness: every value is a function of seed, index and purpose.

/** Hashes three words into one of 32 bits. */
export function mix(a: number, b: number, c = 0): number {
  return finish(finish(finish(a ^ 0x51ed270b) + b) + Math.imul(c, 0x9e3779b1))
}

/** Multiplies and folds, so that each input bit affects every output bit. */
function finish(word: number): number {
  let h = word | 0
  h = Math.imul(h ^ (h >>> 16), 0x7feb352d)
  h = Math.imul(h ^ (h >>> 15), 0x846ca68b)
  return (h ^ (h >>> 16)) >>> 0
}

const DIGITS = '0123456789abcdef'

/** Purposes of draws. Streams with different purposes are independent. */
export const PURPOSE = {
  placement: 1,
  timing: 2,
  human: 3,
  identity: 4,
  contact: 5,
  environment: 6,
  counters: 7,
  handling: 8,
  assignment: 9,
  integration: 10,
  crm: 11,
  tokens: 12,
  funnel: 13,
  extras: 14,
  agent: 15,
  run: 16,
  stamp: 17,
  scene: 18,
  aftermath: 21,
  csat: 22,
  note: 23,
  fact: 24,
  form: 25,
  agentChange: 26,
  organization: 27,
  organizationRecord: 28,
  tool: 29,
  metric: 30,
  variable: 31,
  audit: 32,
  voice: 33,
  voiceFacts: 35,
  crawler: 36,
  crawlerPage: 37,
  written: 38,
  regular: 39,
  contactIds: 40,
  revision: 41,
  session: 100,
  handoff: 200,
  exchange: 300,
  transcript: 400,
  // Each event type adds its position to this.
  event: 500,
  // Each kind of hostile record adds its position to this.
  hostile: 3_000,
  // Searches add a thousand to this, and each fault its position.
  fault: 20_000,
} as const

/** A stream of draws, determined by its three numbers. */
export class Draw {
  private state: number

  constructor(seed: number, index: number, purpose: number) {
    this.state = mix(seed, index, purpose)
  }

  /** Returns 0 to 2^32 - 1. */
  word(): number {
    this.state = (this.state + 0x9e3779b9) | 0
    return finish(this.state)
  }

  /** Returns 0 (inclusive) to 1 (exclusive). */
  unit(): number {
    return this.word() / 4_294_967_296
  }

  /** Returns an integer; both ends are inclusive. */
  int(low: number, high: number): number {
    return low + Math.floor(this.unit() * (high - low + 1))
  }

  /** Returns a number rounded to `digits` decimals. */
  decimal(low: number, high: number, digits: number): number {
    const scale = 10 ** digits
    return Math.round((low + this.unit() * (high - low)) * scale) / scale
  }

  chance(share: number): boolean {
    return this.unit() < share
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.unit() * list.length)]!
  }

  /** Returns up to `most` distinct elements, in list order. */
  several<T>(list: readonly T[], most: number): T[] {
    const count = this.int(1, Math.min(most, list.length))
    const first = this.int(0, list.length - count)
    return list.slice(first, first + count)
  }

  /** Returns hexadecimal digits. */
  hex(digits: number): string {
    let text = ''
    let word = 0
    for (let left = digits; left > 0; left--) {
      if ((digits - left) % 8 === 0) word = this.word()
      text += DIGITS[word & 15]
      word >>>= 4
    }
    return text
  }

  /** Draws log-uniformly between `low` and `high`, both above 0. */
  logarithmic(low: number, high: number): number {
    return Math.round(low * (high / low) ** this.unit())
  }

  /** Returns the value for that share of records; of the others, a quarter have null and the rest lack the field. */
  some<T>(share: number, value: T): T | null | undefined {
    return this.made(share, () => value)
  }

  /** Like `some`, but computes the value only if it is used. */
  made<T>(share: number, make: () => T): T | null | undefined {
    const unit = this.unit()
    if (unit < share) return make()
    return unit < share + (1 - share) / 4 ? null : undefined
  }
}
