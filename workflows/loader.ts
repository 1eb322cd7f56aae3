// Loading runs concurrently with fetching, which never waits for it. The first rows of a workspace are loaded as soon as they
// land. Later pages wait until there are enough for one load, or until some time has passed since the last load: loading ten
// pages at once costs four times as much CPU per page as loading a hundred, and most polls fetch less than a small load.
import { failureOf } from '../src/core/errors.ts'
import type { Failure, Steps } from './steps.ts'

export interface Landed {
  pages: number
  conversations: number
  /** Time when the last of the answers arrived, by the fetching worker's clock; null if none did. */
  atMs: number | null
}

export interface Loader {
  /** Reports landed pages. Those without conversations trigger no load: they are loaded with the next ones that have some, or at the end. */
  landed(landed: Landed): void
  /** Reports that nothing will land for a while, so that waiting pages are loaded now. */
  idle(): void
  /**
   * Resolves when all landed pages are loaded or, with `now`, when the running batch is. Returns the failure of a load, if any.
   * Calls `loading` with the number of pages before each load.
   */
  drained(now: boolean, loading: (pages: number) => void): Promise<Failure | null>
}

/** Number of waiting pages that start a load at once. */
const FULL_LOAD_PAGES = 100
/** Delay after the previous load before fewer waiting pages are loaded. */
const MAX_DELAY_MS = 5_000

export function startLoader(
  steps: Steps,
  options: { workspaceId: string; waitingAtStart: number; hasRows: boolean; startedAtMs: number },
): Loader {
  const { workspaceId, waitingAtStart, hasRows, startedAtMs } = options
  let waiting = waitingAtStart
  let running: Promise<void> | null = null
  // Time of the newest answer, not the host's clock. A replay on Temporal may apply an event at another time than the
  // first execution (ADR 8), and would then start a load that the history does not contain.
  let newestMs = startedAtMs
  // Pages that an earlier run left unloaded are loaded at once.
  let loadedAtMs = hasRows && waitingAtStart === 0 ? startedAtMs : Number.NEGATIVE_INFINITY
  let failure: Failure | null = null
  let stopping = false
  let onLoad = (_pages: number): void => {}
  /** True to load even small batches, until no page is waiting. */
  let hurry = false
  /** State of the workspace's first conversations. The listing of agents lands before them and is loaded separately. */
  let firstRows: 'expected' | 'landed' | 'loaded' = hasRows ? 'loaded' : 'expected'

  const isDue = (): boolean =>
    waiting > 0 &&
    (hurry || firstRows === 'landed' || waiting >= FULL_LOAD_PAGES || newestMs - loadedAtMs >= MAX_DELAY_MS)

  async function loadAll(): Promise<void> {
    try {
      while (isDue() && !stopping) {
        if (firstRows === 'landed') firstRows = 'loaded'
        onLoad(waiting)
        waiting = (await steps.load({ workspaceId })).waiting
        loadedAtMs = newestMs
        if (waiting === 0) hurry = false
      }
    } catch (error) {
      failure = failureOf(error) ?? { code: 'LOAD_FAILED', kind: 'storage', what: String(error), hint: null }
    } finally {
      running = null
    }
  }

  function start(): void {
    if (running === null && failure === null && isDue() && !stopping) running = loadAll()
  }

  function loadNow(): void {
    if (waiting > 0) hurry = true
    start()
  }

  start()
  return {
    landed({ pages, conversations, atMs }) {
      waiting += pages
      newestMs = Math.max(newestMs, atMs ?? newestMs)
      if (conversations === 0) return
      if (firstRows === 'expected') firstRows = 'landed'
      start()
    },
    idle: loadNow,
    async drained(atOnce, loading) {
      stopping = atOnce
      onLoad = loading
      while (running) await running
      loadNow()
      while (running) await running
      return failure
    },
  }
}
