// The current failure to drain a workspace's spool: stored for `status`, and retried with exponential backoff.
import { diskErrorCode } from '../../core/disk.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { MINUTE, SECOND } from '../../core/time.ts'
import {
  clearDrainFailure,
  type DrainFailure,
  reserveDrainFailure,
  writeDrainFailure,
} from '../../spool/drain-failure.ts'
import { hasSpool, spoolFolder } from '../../spool/folders.ts'

/** A retry at least every minute, so that freed disk space is used soon. */
const RETRY = { firstMs: SECOND, longestMs: MINUTE }

/** Wait after `attempts` failed attempts, ms. */
export const retryAfterMs = (attempts: number): number =>
  Math.min(RETRY.longestMs, RETRY.firstMs * 2 ** Math.min(attempts - 1, 30))

const HINT = 'Free disk space or make the data folder writable; no restart is needed.'

const hintOf = ({ hint, cause }: ConvohouseError): string | null =>
  diskErrorCode(cause) === null ? (hint ?? null) : HINT

const describe = (error: unknown): Pick<DrainFailure, 'code' | 'what' | 'hint'> =>
  error instanceof ConvohouseError
    ? { code: error.code, what: error.message, hint: hintOf(error) }
    : { code: 'UNEXPECTED', what: error instanceof Error ? error.message : String(error), hint: null }

export class DrainFailures {
  current: DrainFailure | null = null
  /** An earlier process may have left a record of its failure. */
  private mayBeKept = true
  private isReserved = false
  private readonly home: string
  private readonly workspaceId: string
  private readonly now: () => number

  constructor({ home, workspaceId, now }: { home: string; workspaceId: string; now: () => number }) {
    this.home = home
    this.workspaceId = workspaceId
    this.now = now
  }

  /** True where nothing fails or the retry is due. */
  get isDue(): boolean {
    return this.current === null || this.now() >= this.current.nextMs
  }

  /** Reserves disk space for the record of a failure, once there is a spool. */
  async reserve(): Promise<void> {
    if (this.isReserved || !hasSpool(this.home, this.workspaceId)) return
    this.isReserved = await reserveDrainFailure(spoolFolder(this.home, this.workspaceId))
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
