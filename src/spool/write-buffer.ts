// The memory in which lines are assembled for a write, reused from batch to batch. Allocating it costs as much as filling it, and allocating
// that much three times a second under load made V8 run a full garbage collection each time.
import { linesOf, type SpoolEvent } from './event-line.ts'

const NONE: Buffer = Buffer.alloc(0)

export class WriteBuffer {
  private memory = NONE

  /** The lines of one batch; valid until the next call. */
  linesOf(events: readonly SpoolEvent[], batch: number): Buffer {
    const lines = linesOf(events, batch, this.memory)
    if (lines.length > this.memory.length) this.memory = lines
    return lines
  }

  /** Frees the memory while no events arrive. */
  release(): void {
    this.memory = NONE
  }
}
