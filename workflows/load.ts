// Loading beside fetching: fetching never waits for it. A load begins as soon as something has landed and none is
// running; what lands meanwhile is the next batch, so batches grow by themselves where pages come fast.
import type { Failure, Steps } from './steps.ts'

export interface Loader {
  /** Pages without conversations are news to nobody: they are loaded with the next that have some, or at the end. */
  landed(landed: { pages: number; conversations: number }): void
  /** Resolves when everything that landed is loaded (or, `now`, when the running batch is); a failure is returned, once. */
  drained(now: boolean): Promise<Failure | null>
}

const failureOf = (error: unknown): Failure => {
  const known = error as Partial<Failure> & { mend?: string; message?: string }
  return {
    code: known.code ?? 'LOAD_FAILED',
    kind: known.kind ?? 'storage',
    what: known.message ?? String(error),
    mend: known.mend ?? null,
  }
}

export function backgroundLoad(steps: Steps, workspaceId: string, waitingAtStart: number): Loader {
  let waiting = waitingAtStart
  let running: Promise<void> | null = null
  let failure: Failure | null = null
  let stopping = false

  async function loadAll(): Promise<void> {
    try {
      while (waiting > 0 && !stopping) waiting = (await steps.load({ workspaceId })).waiting
    } catch (error) {
      failure = failureOf(error)
    } finally {
      running = null
    }
  }

  function begin(): void {
    if (running === null && failure === null && waiting > 0 && !stopping) running = loadAll()
  }

  begin()
  return {
    landed({ pages, conversations }) {
      waiting += pages
      if (conversations > 0) begin()
    },
    async drained(now) {
      stopping = now
      while (running) await running
      begin()
      while (running) await running
      return failure
    },
  }
}
