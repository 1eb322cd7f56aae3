// What fails while a workspace's spool is drained: kept while it lasts, for this process and for `status`, and tried again less and less often.
import { diskErrorCode } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'
import { MINUTE, SECOND } from '../core/time.ts'
import { clearDrainFailure, type DrainFailure, writeDrainFailure } from '../spool/drain-failure.ts'

/** A disk that has room again is found within a minute, and one that fails is not asked more often than that. */
const RETRY = { firstMs: SECOND, longestMs: MINUTE }

/** How long after so many attempts the next one follows, ms. */
export const retryAfterMs = (attempts: number): number =>
  Math.min(RETRY.longestMs, RETRY.firstMs * 2 ** Math.min(attempts - 1, 30))

const HINT = 'Give the data folder space and write permission; nothing has to be restarted.'

const hintOf = ({ hint, cause }: ConvohouseError): string | null =>
  diskErrorCode(cause) === null ? (hint ?? null) : HINT

const describe = (error: unknown): Pick<DrainFailure, 'code' | 'what' | 'hint'> =>
  error instanceof ConvohouseError
    ? { code: error.code, what: error.message, hint: hintOf(error) }
    : { code: 'UNEXPECTED', what: error instanceof Error ? error.message : String(error), hint: null }

export class DrainFailures {
  current: DrainFailure | null = null
  /** A process that has ended may have left one behind. */
  private mayBeKept = true
  private readonly home: string
  private readonly workspaceId: string
  private readonly now: () => number

  constructor({ home, workspaceId, now }: { home: string; workspaceId: string; now: () => number }) {
    this.home = home
    this.workspaceId = workspaceId
    this.now = now
  }

  /** True where what failed is to be tried again, or nothing fails. */
  get isDue(): boolean {
    return this.current === null || this.now() >= this.current.nextMs
  }

  async failed(error: unknown): Promise<void> {
    const nowMs = this.now()
    const { sinceMs, attempts } = this.current ?? { sinceMs: nowMs, attempts: 0 }
    const nextMs = nowMs + retryAfterMs(attempts + 1)
    this.current = { ...describe(error), sinceMs, attempts: attempts + 1, nextMs, pid: process.pid }
    this.mayBeKept = true
    await writeDrainFailure(this.home, this.workspaceId, this.current)
  }

  async succeeded(): Promise<void> {
    this.current = null
    if (!this.mayBeKept) return
    this.mayBeKept = false
    await clearDrainFailure(this.home, this.workspaceId)
  }
}
