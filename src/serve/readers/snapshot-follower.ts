// Keeps one process on the newest snapshot file.
//
//   none ──start──▶ current ──file renamed, next process is open──▶ retired ──last request answered──▶ closed
//                      └──ends by itself, or by the watchdog──▶ none, and the next start begins at once
import { stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConvohouseError } from '../../core/errors.ts'
import { SECOND } from '../../core/time.ts'
import type { SnapshotState } from './query-port.ts'
import { broken, type ReaderProcess } from './reader-process.ts'

/** Holds the process for one request: a retired one is closed when nothing holds it any more. */
export interface Lease {
  process: ReaderProcess
  release(): void
}

interface Options {
  file: string
  start(): Promise<ReaderProcess>
  /** Called when a newer file cannot be opened: the older one is read further. */
  onProblem(error: unknown): void
  lookEveryMs: number
}

interface Generation {
  process: ReaderProcess
  file: string | null
  leases: number
}

/** Time that a request waits for a process: it starts within a second or two. */
const WAIT_MS = 15 * SECOND
const RETRY_MS = SECOND

/** Changes when the file is replaced; null if there is none. */
const identityOf = async (file: string): Promise<string | null> => {
  const found = await stat(file, { bigint: true }).catch(() => null)
  return found && [found.dev, found.ino, found.mtimeNs, found.size].join(' ')
}

/** @throws TARGET_UNUSABLE if the file cannot be opened now */
export async function followSnapshot({ file, start, onProblem, lookEveryMs }: Options) {
  let current: Generation | null = null
  let state: SnapshotState
  let starting: Promise<void> | null = null
  let isClosed = false
  /** Not opened again until it is replaced. */
  let failed: string | null = null
  const running = new Set<ReaderProcess>()

  const closeUnused = async (generation: Generation) => {
    if (generation !== current && generation.leases === 0) await generation.process.close()
  }

  async function replace(): Promise<void> {
    // Read before the file is opened: if it is replaced in between, it is only opened once more.
    const identity = await identityOf(file)
    const process = await start().catch(error => {
      failed = identity
      throw error
    })
    const next: Generation = { process, file: identity, leases: 0 }
    running.add(process)
    void process.ended.then(() => {
      running.delete(process)
      if (current === next) current = null
      void restart()
    })
    const before = current
    current = next
    state = process.state
    if (before) void closeUnused(before)
  }

  /** Starts a process unless one is starting already. */
  const startNext = (): Promise<void> => {
    starting ??= replace().finally(() => {
      starting = null
    })
    return starting
  }

  async function restart(): Promise<void> {
    if (current !== null || isClosed) return
    await startNext().catch(onProblem)
    setTimeout(() => void restart(), RETRY_MS)
  }

  async function look(): Promise<void> {
    const identity = await identityOf(file)
    // A missing file is one that its owner has moved away: the open one can still be read.
    if (identity === null || current === null || identity === current.file || identity === failed) return
    // The start that is running may be of an earlier file, whose failure says nothing about this one.
    await startNext().catch(onProblem)
  }

  await startNext()
  const timer = setInterval(() => void look(), lookEveryMs)
  return {
    state: () => state,
    /** Waits if no process is running. @throws WAREHOUSE_ENDED if none starts in time; INTERRUPTED */
    async lease(signal?: AbortSignal): Promise<Lease> {
      for (const untilMs = performance.now() + WAIT_MS; current === null; await sleep(20)) {
        if (signal?.aborted) throw new ConvohouseError('INTERRUPTED', { what: 'The query was stopped.' })
        if (isClosed || performance.now() > untilMs) throw broken()
      }
      const generation: Generation = current
      generation.leases += 1
      let release = () => {
        release = () => {}
        generation.leases -= 1
        void closeUnused(generation)
      }
      return { process: generation.process, release: () => release() }
    },
    async close(): Promise<void> {
      isClosed = true
      clearInterval(timer)
      await starting?.catch(() => {})
      await Promise.all([...running].map(process => process.close()))
    },
  }
}
