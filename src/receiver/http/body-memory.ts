// What bodies hold while they are read and taken in, and whose sender is dropped when that is too much.
//
// The secret is in the body, so nobody is known before a body is whole: until then a sender may be anybody. Real events are small and quick.
// So the first bytes of each body have room of their own, and where any room is short, the sender is dropped who has held most bytes for the
// longest time, unless a valid secret has been among them. Senders behind one proxy have one address: it bounds what large bodies hold, and
// refuses nobody.
import type { Refusal } from '../refusals.ts'

export interface BodyLimits {
  /** One body. */
  maxBytes: number
  /** All bodies that are read or taken in at once. */
  maxBytesAtOnce: number
}

/** Nearly every event is smaller. What a body has beyond it is large. */
export const SMALL_BYTES = 64 * 1024
/** Of all room, the share that large parts never take, and the share that those of one address may take. */
const SHARES = { small: 1 / 4, address: 3 / 8 }
/** What a piece costs beside its bytes: a body may come byte by byte. */
const PIECE_BYTES = 256

/** A body while it is held. */
export interface HeldBody {
  address: string
  /** Of one connection, whatever it is. */
  connection: object
  beganMs: number
  /** All of it has come: it is on its way to the disk, and is not dropped. */
  isWhole: boolean
  /** A valid secret is among what has come. */
  isAuthentic(): boolean
  /** Ends it, and releases what it holds. */
  drop(reason: Extract<Refusal, 'too-slow' | 'too-busy'>): void
}

/** Who may be dropped for the room that is short. */
type Rivals = (body: HeldBody) => boolean

const largePart = (bytes: number): number => Math.max(0, bytes - SMALL_BYTES)

/** Bytes by whose they are. */
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
  /** All that is held, and what of it is large parts. */
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

  /** Takes room for a piece of a body. False where the body was dropped instead. */
  hold(body: HeldBody, pieceBytes: number): boolean {
    const wanted = (this.bytes.get(body) ?? 0) + pieceBytes + PIECE_BYTES
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

  /** Among whom there is no room for that body with so many bytes; null where there is. */
  private short(body: HeldBody, wanted: number): Rivals | null {
    const { maxBytes, maxBytesAtOnce } = this.limits
    const before = this.bytes.get(body) ?? 0
    const more = wanted - before
    const moreLarge = largePart(wanted) - largePart(before)
    const isLarge: Rivals = other => largePart(this.bytes.get(other)!) > 0
    // A body in pieces may cost twice its bytes.
    const least = 2 * maxBytes
    const share = (part: number) => Math.max(least, Math.floor(maxBytesAtOnce * part))
    if (more + this.ofConnection.of(body.connection) > least) return other => other.connection === body.connection
    if (moreLarge > 0 && moreLarge + this.largeOfAddress.of(body.address) > share(SHARES.address))
      return other => other.address === body.address && isLarge(other)
    if (moreLarge > 0 && moreLarge + this.large > share(1 - SHARES.small)) return isLarge
    return more + this.held > maxBytesAtOnce ? () => true : null
  }

  /** Of those who may be dropped, the one that has cost most room for most time. */
  private slowest(rivals: Rivals): HeldBody | null {
    const nowMs = this.now()
    const cost = ([body, bytes]: [HeldBody, number]) => bytes * (nowMs - body.beganMs)
    const open = [...this.bytes].filter(([body]) => !body.isWhole && rivals(body))
    const [slowest] = open.sort((a, b) => cost(b) - cost(a)).find(([body]) => !body.isAuthentic()) ?? []
    return slowest ?? null
  }
}
