// The memory that request bodies occupy while they are received and stored, and the choice of the sender to drop when it runs out.
//
// The secret is in the body, so a sender is unauthenticated until its body is complete. Real events are small and arrive quickly. So the first
// bytes of each body have a budget of their own, and when a budget is exhausted, the sender is dropped whose bytes × time is largest, unless its
// bytes contain a valid secret. Senders behind one proxy share an address, so the budget per address limits large bodies only.
import type { Refusal } from '../refusals.ts'

export interface BodyLimits {
  /** Of one body. */
  maxBytes: number
  /** Of all bodies that are being received or stored. */
  maxBytesAtOnce: number
}

/** Nearly every event is smaller. A body's bytes beyond this are its large part. */
export const SMALL_BYTES = 64 * 1024
/** Shares of all memory: the share that is closed to large parts, and the limit for large parts of one address. */
const SHARES = { small: 1 / 4, address: 3 / 8 }
/** Overhead of a chunk: a body may arrive byte by byte. */
const CHUNK_BYTES = 256

/** A body in memory. */
export interface HeldBody {
  address: string
  /** Identity of the connection. */
  connection: object
  beganMs: number
  /** Received completely: it is being stored and must not be dropped. */
  isComplete: boolean
  /** The received part contains a valid secret. */
  isAuthentic(): boolean
  /** Ends the request and releases its memory. */
  drop(reason: Extract<Refusal, 'too-slow' | 'too-busy'>): void
}

/** Selects the bodies that may be dropped for an exhausted budget. */
type Rivals = (body: HeldBody) => boolean

const largePart = (bytes: number): number => Math.max(0, bytes - SMALL_BYTES)

/** Bytes by owner. */
class Sums<Key> {
  private readonly sums = new Map<Key, number>()

  of(key: Key): number {
    return this.sums.get(key) ?? 0
  }

  add(key: Key, bytes: number): void {
    const sum = this.of(key) + bytes
    if (sum === 0) this.sums.delete(key)
    else this.sums.set(key, sum)
  }
}

export class BodyMemory {
  readonly limits: BodyLimits
  /** Bytes of all bodies, and of their large parts. */
  held = 0
  private large = 0
  private readonly largeOfAddress = new Sums<string>()
  private readonly ofConnection = new Sums<object>()
  private readonly bytes = new Map<HeldBody, number>()
  private readonly now: () => number

  constructor(limits: BodyLimits, now: () => number = () => performance.now()) {
    this.limits = limits
    this.now = now
  }

  /** Reserves memory for a chunk of a body. False where the body was dropped instead. */
  hold(body: HeldBody, chunkBytes: number): boolean {
    const wanted = (this.bytes.get(body) ?? 0) + chunkBytes + CHUNK_BYTES
    for (let rivals = this.short(body, wanted); rivals; rivals = this.short(body, wanted)) {
      const slowest = this.slowest(rivals)
      if (slowest) slowest.drop('too-slow')
      else body.drop('too-busy')
      if (slowest === null || slowest === body) return false
    }
    this.change(body, wanted)
    return true
  }

  release(body: HeldBody): void {
    if (this.bytes.has(body)) this.change(body, 0)
  }

  private change(body: HeldBody, bytes: number): void {
    const before = this.bytes.get(body) ?? 0
    const large = largePart(bytes) - largePart(before)
    this.held += bytes - before
    this.large += large
    this.largeOfAddress.add(body.address, large)
    this.ofConnection.add(body.connection, bytes - before)
    if (bytes === 0) this.bytes.delete(body)
    else this.bytes.set(body, bytes)
  }

  /** The bodies that compete for the exhausted budget, if the body were to hold `wanted` bytes; null where they fit. */
  private short(body: HeldBody, wanted: number): Rivals | null {
    const { maxBytes, maxBytesAtOnce } = this.limits
    const before = this.bytes.get(body) ?? 0
    const more = wanted - before
    const moreLarge = largePart(wanted) - largePart(before)
    const isLarge: Rivals = other => largePart(this.bytes.get(other)!) > 0
    // A body in chunks may cost twice its bytes.
    const least = 2 * maxBytes
    const share = (part: number) => Math.max(least, Math.floor(maxBytesAtOnce * part))
    if (more + this.ofConnection.of(body.connection) > least) return other => other.connection === body.connection
    if (moreLarge > 0 && moreLarge + this.largeOfAddress.of(body.address) > share(SHARES.address))
      return other => other.address === body.address && isLarge(other)
    if (moreLarge > 0 && moreLarge + this.large > share(1 - SHARES.small)) return isLarge
    return more + this.held > maxBytesAtOnce ? () => true : null
  }

  /** The incomplete, unauthenticated body with the largest bytes × time. */
  private slowest(rivals: Rivals): HeldBody | null {
    const nowMs = this.now()
    const cost = ([body, bytes]: [HeldBody, number]) => bytes * (nowMs - body.beganMs)
    const open = [...this.bytes].filter(([body]) => !body.isComplete && rivals(body))
    const [slowest] = open.sort((a, b) => cost(b) - cost(a)).find(([body]) => !body.isAuthentic()) ?? []
    return slowest ?? null
  }
}
