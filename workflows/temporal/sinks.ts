// What the owner tells the worker that runs it, for the log of runs. Sinks are no commands: histories know nothing of them.
import { proxySinks, type Sinks } from '@temporalio/workflow'
import type { Failure } from '../steps.ts'

export interface RunSinks extends Sinks {
  runs: {
    paused(workspaceId: string, run: string, paused: boolean): void
    /** It ended before it had a report; null: it was cancelled. */
    gaveUp(workspaceId: string, run: string, failure: Failure | null): void
  }
}

export const { runs } = proxySinks<RunSinks>()
