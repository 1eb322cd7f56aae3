// Loading beside fetching: fetching never waits for it. The first rows of a workspace are loaded as soon as they have landed; all
// others wait until there is enough for a load, or until it has not loaded for a while: a load of ten pages costs four times
// as much CPU a page as one of a hundred, and most polls bring no more than one small load is made of.
import type { Failure, Steps } from './steps.ts'

export interface Loader {
  /** Pages without conversations are news to nobody: they are loaded with the next that have some, or at the end. */
  landed(landed: { pages: number; conversations: number }): void
  /** Nothing lands for a while: what has landed is loaded now. */
  idle(): void
  /** Resolves when everything that landed is loaded (or, `now`, when the running batch is); a failure is returned, once. */
  drained(now: boolean): Promise<Failure | null>
}

/** Pages that are worth a load at once. */
const ENOUGH_PAGES = 100
/** Fewer are loaded so long after the load before them. */
const SOON_MS = 5_000

const failureOf = (error: unknown): Failure => {
  const known = error as Partial<Failure> & { hint?: string; message?: string }
  return {
    code: known.code ?? 'LOAD_FAILED',
    kind: known.kind ?? 'storage',
    what: known.message ?? String(error),
    hint: known.hint ?? null,
  }
}

export function startLoader(
  steps: Steps,
  options: { workspaceId: string; waitingAtStart: number; hasRows: boolean; now(): number },
): Loader {
  const { workspaceId, waitingAtStart, hasRows, now } = options
  let waiting = waitingAtStart
  let running: Promise<void> | null = null
  // What an earlier run left is loaded at once.
  let loadedAtMs = hasRows && waitingAtStart === 0 ? now() : Number.NEGATIVE_INFINITY
  let failure: Failure | null = null
  let stopping = false
  /** What waits is loaded however little it is, until nothing does. */
  let hurry = false
  /** The first conversations: not the listing of the agents, which lands before them and is loaded by itself. */
  let first: 'to come' | 'landed' | 'loaded' = hasRows ? 'loaded' : 'to come'

  const isDue = (): boolean =>
    waiting > 0 && (hurry || first === 'landed' || waiting >= ENOUGH_PAGES || now() - loadedAtMs >= SOON_MS)

  async function loadAll(): Promise<void> {
    try {
      while (isDue() && !stopping) {
        if (first === 'landed') first = 'loaded'
        waiting = (await steps.load({ workspaceId })).waiting
        loadedAtMs = now()
        if (waiting === 0) hurry = false
      }
    } catch (error) {
      failure = failureOf(error)
    } finally {
      running = null
    }
  }

  function begin(): void {
    if (running === null && failure === null && isDue() && !stopping) running = loadAll()
  }

  function loadNow(): void {
    if (waiting > 0) hurry = true
    begin()
  }

  begin()
  return {
    landed({ pages, conversations }) {
      waiting += pages
      if (conversations === 0) return
      if (first === 'to come') first = 'landed'
      begin()
    },
    idle: loadNow,
    async drained(atOnce) {
      stopping = atOnce
      while (running) await running
      loadNow()
      while (running) await running
      return failure
    },
  }
}
