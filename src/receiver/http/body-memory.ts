// The memory that request bodies occupy while they are received and stored. When memory runs out, a sender is chosen and dropped.
//
// The secret is in the body, so a sender is unauthenticated until its body is complete. Real events are small and arrive quickly. So the
// first bytes of each body have a budget of their own, and when a budget is exhausted, the sender with the largest bytes × time is dropped;
// senders whose bytes contain a valid secret are spared. Senders behind one proxy share an address, so the budget per address limits only
// large bodies.
import type { Refusal } from '../refusals.ts'

export interface BodyLimits {
  /** Maximum size of one body. */
  maxBytes: number
  /** Maximum memory of all bodies that are being received or stored. */
  maxBytesAtOnce: number
}

/** Nearly every event is smaller. The bytes of a body beyond this size are called its large part. */
export const SMALL_BYTES = 64 * 1024
/** Shares of all memory. `small`: the share that large parts may not use. `address`: the limit for the large parts of one address. */
const SHARES = { small: 1 / 4, address: 3 / 8 }
/** Memory that a chunk uses besides its bytes; counted, because a body may arrive byte by byte. */
const CHUNK_BYTES = 256

/** A body in memory. */
export interface HeldBody {
  address: string
  /** Identity of the connection. */
  connection: object
  beganMs: number
  /** True where the body is received completely: it is being stored and must not be dropped. */
  isComplete: boolean
  /** True where the received part contains a valid secret. */
  isAuthentic(): boolean
  /** Ends the request and releases its memory. */
  drop(reason: Extract<Refusal, 'too-slow' | 'too-busy'>): void
}

/** Selects the bodies of which one may be dropped when a budget is exhausted. */
type Rivals = (body: HeldBody) => boolean

const largePart = (bytes: number): number => Math.max(0, bytes - SMALL_BYTES)

/** Sums of bytes by connection or address. */
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
  /** `held`: bytes of all bodies. `large`: bytes of their large parts. */
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

  /** The bodies that compete for the budget that would be exhausted if `body` held `wanted` bytes; null if none would be. */
  private short(body: HeldBody, wanted: number): Rivals | null {
    const { maxBytes, maxBytesAtOnce } = this.limits
    const before = this.bytes.get(body) ?? 0
    const more = wanted - before
    const moreLarge = largePart(wanted) - largePart(before)
    const isLarge: Rivals = other => largePart(this.bytes.get(other)!) > 0
    // A body that arrives in chunks may occupy twice its size.
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
