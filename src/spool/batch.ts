// Events that share a sync, and its outcome: one promise for all of them.
import type { SpoolEvent } from './event-line.ts'

/** A sync takes longer the more there is to write, and all of it waits. */
const MAX_BYTES = 4 * 1024 * 1024

export class Batch {
  readonly events: SpoolEvent[]
  /** Resolves when all of them are on the disk. */
  readonly done: Promise<void>
  stored!: () => void
  failed!: (error: unknown) => void
  private bytes: number

  constructor(first: SpoolEvent) {
    this.events = [first]
    this.bytes = first.payload.length
    this.done = new Promise((stored, failed) => {
      this.stored = stored
      this.failed = failed
    })
  }

  /** False where it is full. */
  take(event: SpoolEvent): boolean {
    if (this.bytes + event.payload.length > MAX_BYTES) return false
    this.bytes += event.payload.length
    this.events.push(event)
    return true
  }
}
