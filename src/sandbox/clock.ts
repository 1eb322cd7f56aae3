// The sandbox's only clock. Tests set it.

export class SandboxClock {
  private sandboxMs: number
  private readAtMs: number
  /** Sandbox seconds per real second. */
  private readonly speed: number

  constructor(start: { startMs: number; speed: number }) {
    this.sandboxMs = start.startMs
    this.speed = start.speed
    this.readAtMs = performance.now()
  }

  /** Returns whole milliseconds since the epoch. */
  now(): number {
    return Math.floor(this.exact())
  }

  set(nowMs: number): void {
    this.sandboxMs = nowMs
    this.readAtMs = performance.now()
  }

  advance(byMs: number): void {
    this.set(this.exact() + byMs)
  }

  private exact(): number {
    return this.sandboxMs + (performance.now() - this.readAtMs) * this.speed
  }
}
