// Workers on Temporal in the test's own process, and the reports of their syncs.
import { WorkflowFailedError } from '@temporalio/client'
import { ApplicationFailure } from '@temporalio/common'
import { DefaultLogger, Runtime } from '@temporalio/worker'
import { onTestFinished } from 'vitest'
import { type App, openApp } from '../../src/app.ts'
import { type Config, readConfig } from '../../src/config.ts'
import type { TemporalPlace } from '../../src/run/temporal/client/connection.ts'
import type { OwnerHandle } from '../../src/run/temporal/client/owner.ts'
import type { Role } from '../../src/run/temporal/worker/worker.ts'
import { runWorker } from '../../src/run/temporal/worker/worker.ts'
import type { SyncReport } from '../../workflows/steps.ts'
import { TOKEN } from './scene.ts'

/** Logs errors only: Temporal logs a failed workflow as a warning, and some workflows fail here on purpose. */
Runtime.install({ logger: new DefaultLogger('ERROR') })

/** Runs a Temporal worker in this process until `stop` is called or the test ends. */
export async function startWorker(
  config: Config,
  place: Partial<TemporalPlace>,
  role: Role = 'all',
): Promise<{ app: App | null; stop(): Promise<void> }> {
  const [stopping, aborted] = [new AbortController(), new AbortController()]
  let app: App | null = null
  let ended: Promise<void> = Promise.resolve()
  await new Promise<void>((resolve, reject) => {
    ended = runWorker({
      config,
      role,
      place,
      ending: { stopping: stopping.signal, aborted: aborted.signal },
      openApp: async () => {
        app = await openApp({ config })
        return app
      },
      ready: () => resolve(),
    })
    ended.catch(reject)
  })
  const stop = async () => {
    stopping.abort(new Error('the test is over'))
    await ended
  }
  onTestFinished(stop)
  return { app, stop }
}

/** Runs a worker in this process, with a configuration file from `writeConfig`. */
export const startWorkerAt = (path: string, place: TemporalPlace, role?: Role, env: Record<string, string> = {}) =>
  startWorker(readConfig({ path, env: { WORKER_TOKEN: TOKEN, ...env } }), place, role)

/** Returns the report of a sync. If the workflow failed, the report is in the details of its failure. */
export async function reportOf(handle: OwnerHandle): Promise<SyncReport> {
  try {
    return (await handle.result())!
  } catch (error) {
    const cause = error instanceof WorkflowFailedError ? error.cause : undefined
    const report = cause instanceof ApplicationFailure ? cause.details?.[1] : undefined
    if (report) return report as SyncReport
    throw error
  }
}
