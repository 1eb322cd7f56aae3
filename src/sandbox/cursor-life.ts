// How long a cursor is good, where it is not so for ever: ten minutes, or one request.
import { MINUTE } from '../core/time.ts'
import type { Readings } from './readings.ts'

const TEN_MINUTES = 10 * MINUTE

export class CursorLife {
  private readonly reading: Readings['cursor-life']
  /** When each was issued last, by the cursor. */
  private readonly issued = new Map<string, number>()

  constructor(reading: Readings['cursor-life']) {
    this.reading = reading
  }

  issue(cursor: string | null, nowMs: number): void {
    if (this.reading !== 'forever' && cursor !== null) this.issued.set(cursor, nowMs)
  }

  /** False where the cursor is over. */
  use(cursor: string | undefined, nowMs: number): boolean {
    if (this.reading === 'forever' || cursor === undefined) return true
    const issuedMs = this.issued.get(cursor)
    if (this.reading === 'once') this.issued.delete(cursor)
    return issuedMs !== undefined && (this.reading === 'once' || nowMs - issuedMs < TEN_MINUTES)
  }
}
