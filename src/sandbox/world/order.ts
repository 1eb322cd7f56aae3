// The order in which an agent's conversations are paged, at any time of the clock.
//
// A conversation's position is its creation or, with `--ts activity`, the last start or end of a session. One sorted array
// holds all these moments, including future ones. At time T an entry counts if it has happened and the conversation's next
// moment has not, so the array never changes as the clock advances.
//
// An entry is one 64-bit key: 38 bits of time (ms since the base; 0 for a record without `ts`; 8.7 years),
// 23 bits of index, 3 bits of the moment's number. Eight bytes per entry: a million conversations take 8 to 22 MB.

export interface Place {
  /** `ts` that orders the conversation, in ms; 0 if the record has none. */
  ts: number
  index: number
}

export interface Walk {
  sort: 'asc' | 'desc'
  /** Inclusive bounds on `ts`, in ms. */
  fromMs: number
  toMs: number
  /** The position at which the previous walk stopped; this walk starts after it. */
  after: Place | undefined
}

/** True if that moment (from 0) is the conversation's current position. */
export type IsCurrent = (index: number, moment: number) => boolean

const INDEX_BITS = 26n
const MOMENT_BITS = 3n
const LAST_MOMENT = 7n
const MAX_INDEX = 0x7fffff
export const TIME_SPAN_MS = 2 ** 38 - 2

/** Places of the two halves of a 64-bit word, which depend on the machine's byte order. */
const LOW = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? 0 : 1
const HIGH = 1 - LOW

export class ConversationOrder {
  private readonly baseMs: number
  /** True: of conversations with equal `ts`, those with higher indices come first. */
  private readonly descending: boolean
  private keys = new BigUint64Array(1_024)
  private halves = new Uint32Array(this.keys.buffer)
  private length = 0
  private sorted = true

  constructor(baseMs: number, descending = false) {
    this.baseMs = baseMs
    this.descending = descending
  }

  /** `ts` is 0 for a record without `ts`. */
  add({ ts, index }: Place, moment: number): void {
    if (this.length === this.keys.length) this.grow()
    const offset = ts === 0 ? 0 : ts - this.baseMs + 1
    const at = 2 * this.length++
    this.halves[at + HIGH] = Math.floor(offset / 64)
    this.halves[at + LOW] = (((offset % 64) << 26) | (this.rank(index) << 3) | moment) >>> 0
    this.sorted = false
  }

  /** Conversations of the range in order, at their current position. */
  *walk({ sort, fromMs, toMs, after }: Walk, isCurrent: IsCurrent): Generator<Place> {
    this.ensureSorted()
    const step = sort === 'asc' ? 1 : -1
    let position = this.begin(sort, sort === 'asc' ? fromMs : toMs, after)
    for (; position >= 0 && position < this.length; position += step) {
      const place = this.placeAt(position)
      if (sort === 'asc' ? place.ts > toMs : place.ts < fromMs) return
      if (isCurrent(place.index, this.halves[2 * position + LOW]! & 7)) yield place
    }
  }

  private begin(sort: 'asc' | 'desc', boundMs: number, after: Place | undefined): number {
    if (sort === 'asc') {
      const fromBound = this.countBelow(this.keyOf(boundMs, 0, 0n))
      return after
        ? Math.max(fromBound, this.countBelow(this.keyOf(after.ts, this.rank(after.index), LAST_MOMENT) + 1n))
        : fromBound
    }
    const toBound = this.countBelow(this.keyOf(boundMs + 1, 0, 0n)) - 1
    return after ? Math.min(toBound, this.countBelow(this.keyOf(after.ts, this.rank(after.index), 0n)) - 1) : toBound
  }

  private placeAt(position: number): Place {
    const low = this.halves[2 * position + LOW]!
    const offset = this.halves[2 * position + HIGH]! * 64 + (low >>> 26)
    return { ts: offset === 0 ? 0 : this.baseMs + offset - 1, index: this.rank((low >>> 3) & MAX_INDEX) }
  }

  /** The number that stands for an index in the keys. Applied to that number, the function returns the index. */
  private rank(index: number): number {
    return this.descending ? MAX_INDEX - index : index
  }

  private keyOf(ts: number, rank: number, moment: bigint): bigint {
    const offset = ts === 0 ? 0 : Math.min(Math.max(ts - this.baseMs + 1, 1), TIME_SPAN_MS + 1)
    return (BigInt(offset) << INDEX_BITS) | (BigInt(rank) << MOMENT_BITS) | moment
  }

  /** Number of entries whose key is below `key`, by bisection. */
  private countBelow(key: bigint): number {
    let low = 0
    let high = this.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.keys[middle]! < key) low = middle + 1
      else high = middle
    }
    return low
  }

  private ensureSorted(): void {
    if (this.sorted) return
    this.keys.subarray(0, this.length).sort()
    this.sorted = true
  }

  private grow(): void {
    const larger = new BigUint64Array(2 * this.keys.length)
    larger.set(this.keys)
    this.keys = larger
    this.halves = new Uint32Array(larger.buffer)
  }
}
