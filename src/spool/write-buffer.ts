// The memory in which lines are laid out for a write. It is kept from one batch to the next: fresh memory costs as much as what is copied
// into it, and so much of it, three times a second under load, had V8 go over the whole heap each time.
import { linesOf, type SpoolEvent } from './event-line.ts'

const NONE: Buffer = Buffer.alloc(0)

export class WriteBuffer {
  private memory = NONE

  /** Lines of events that are synced together; valid until the next ones are asked for. */
  linesOf(events: readonly SpoolEvent[], batch: number): Buffer {
    const lines = linesOf(events, batch, this.memory)
    if (lines.length > this.memory.length) this.memory = lines
    return lines
  }

  /** Nothing comes for the moment. */
  release(): void {
    this.memory = NONE
  }
}
