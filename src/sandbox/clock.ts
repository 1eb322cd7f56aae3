// The sandbox's only clock. Callers can set it, speed it up and stop it.

export class SandboxClock {
  private sandboxMs: number
  private readAtMs: number
  private rate: number

  constructor(start: { startMs: number; speed: number }) {
    this.sandboxMs = start.startMs
    this.rate = start.speed
    this.readAtMs = performance.now()
  }

  /** Returns whole milliseconds since the epoch. */
  now(): number {
    return Math.floor(this.exact())
  }

  /** Returns sandbox seconds per real second. */
  get speed(): number {
    return this.rate
  }

  set(nowMs: number): void {
    this.sandboxMs = nowMs
    this.readAtMs = performance.now()
  }

  advance(byMs: number): void {
    this.set(this.exact() + byMs)
  }

  setSpeed(speed: number): void {
    this.set(this.exact())
    this.rate = speed
  }

  private exact(): number {
    return this.sandboxMs + (performance.now() - this.readAtMs) * this.rate
  }
}
