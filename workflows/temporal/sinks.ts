// Sinks through which the owner workflow reports to its worker for the run log. They leave nothing in the history.
import { proxySinks, type Sinks } from '@temporalio/workflow'
import type { Failure } from '../steps.ts'

export interface RunSinks extends Sinks {
  runs: {
    paused(workspaceId: string, run: string, paused: boolean): void
    /** Reports that the sync ended without a report, because of `failure`; null if it was cancelled. */
    gaveUp(workspaceId: string, run: string, failure: Failure | null): void
  }
}

export const { runs } = proxySinks<RunSinks>()
