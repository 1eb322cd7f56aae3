// Watching several workspaces: they share a warehouse, so their rounds take turns. None may keep the others waiting: where
// one's hour or period is spent, its round ends there, and its next one goes on.
import type { SyncReport } from '../../../workflows/steps.ts'
import { systemClock } from '../../clock.ts'
import { isUnanswered } from '../../core/errors.ts'
import { type EmbeddedOptions, endsWatch, syncOnce } from '../../run/embedded.ts'

export interface Rounds {
  runs: readonly EmbeddedOptions[]
  /** From the start of one round to the start of the next. */
  everyMs: number
  stopping: AbortSignal
  /** Told after each workspace's turn; null where it failed in a way that may pass. */
  told(run: EmbeddedOptions, report: SyncReport | null): void
  /** Told of an error that ends a workspace's watch. */
  failed(run: EmbeddedOptions, error: unknown): void
  /** Told when all have had their turn. */
  each(nextMs: number): void
}

const inTurn = (run: EmbeddedOptions): EmbeddedOptions => ({
  ...run,
  request: { ...run.request, wait: false, onPeriodSpent: 'stop' },
})

/** One turn; false where waiting mends nothing for this workspace. */
async function takeTurn(rounds: Rounds, run: EmbeddedOptions): Promise<boolean> {
  try {
    const report = await syncOnce(inTurn(run))
    rounds.told(run, report)
    return report === null || !endsWatch(report)
  } catch (error) {
    if (isUnanswered(error)) rounds.told(run, null)
    else rounds.failed(run, error)
    return isUnanswered(error)
  }
}

/** Round after round, until stopped, or until no workspace is left that waiting could help. */
export async function watchInTurn(rounds: Rounds): Promise<void> {
  const { everyMs, stopping } = rounds
  let runs = rounds.runs
  while (runs.length > 0) {
    const begunMs = systemClock.now()
    const going: EmbeddedOptions[] = []
    for (const run of runs) {
      if (stopping.aborted) return
      if (await takeTurn(rounds, run)) going.push(run)
    }
    runs = going
    if (stopping.aborted || runs.length === 0) return
    const nextMs = Math.max(systemClock.now(), begunMs + everyMs)
    rounds.each(nextMs)
    await systemClock.sleepUntil(nextMs, stopping).catch(() => {})
    if (stopping.aborted) return
  }
}
