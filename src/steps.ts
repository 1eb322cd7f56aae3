// The Steps port over real resources: makes what `workflows/` asks for out of landing, vendor client and warehouse.
import type { Steps, SyncRequest } from '../workflows/steps.ts'
import type { StepsDependencies } from './steps/dependencies.ts'
import { type Fetching, fetchPages, probe } from './steps/fetch.ts'
import { openGate } from './steps/gate.ts'
import { openPending, readPending } from './steps/pending.ts'
import { prepare } from './steps/prepare.ts'
import { openServerClock } from './steps/server-clock.ts'
import { loadedFiles } from './warehouse/known.ts'
import { loadPages, mendedFolder } from './warehouse/load.ts'
import type { LoadContext } from './warehouse/load-context.ts'
import { beginRun, endRun, markAgentGone } from './warehouse/runs.ts'

/** Pages in a transaction: 10 cost 44 ms a page, 50 cost 32, and more only hold memory. */
const A_LOAD = { count: 50, bytes: 64 * 1024 * 1024 }

export function loadContext(
  dependencies: Omit<StepsDependencies, 'vendor' | 'ledger' | 'signal'> & { home: string },
): LoadContext {
  return {
    writer: dependencies.warehouse.writer,
    workspaceId: dependencies.workspaceId,
    timeZone: dependencies.settings.timeZone,
    mirrorLagMs: dependencies.settings.mirrorLagMs,
    temporaryFolder: mendedFolder(dependencies.home),
    readBody: path => dependencies.landing.body(path),
    now: dependencies.now,
  }
}

/** Makes the steps of one run. What has landed and is not loaded is read first. */
export async function makeSteps(dependencies: StepsDependencies & { home: string; run: string }): Promise<Steps> {
  const { warehouse, workspaceId, landing } = dependencies
  const pending = openPending(landing, await readPending(landing, await loadedFiles(warehouse.writer, workspaceId)))
  const fetching: Fetching = { ...dependencies, clock: openServerClock(), gate: openGate(), pending }
  const context = loadContext(dependencies)
  const begunAtMs = dependencies.now()
  let begun: Promise<void> | undefined
  // A plan that was only looked at, or declined, is no run.
  const begin = () => {
    begun ??= beginRun(warehouse.writer, workspaceId, dependencies.run, begunAtMs)
    return begun
  }

  return {
    prepare: (request: SyncRequest) => prepare(fetching, request),
    async fetchPages({ progress, grant }) {
      await begin()
      return fetchPages(fetching, progress, grant)
    },
    async probe({ agentId, grant }) {
      await begin()
      return probe(fetching, agentId, grant)
    },
    async load() {
      await begin()
      const pages = pending.next(A_LOAD)
      const loaded = await loadPages(context, pages)
      pending.taken(pages)
      return { pages: loaded.files, conversations: loaded.records, waiting: pending.all().length }
    },
    async finish({ request, report }) {
      await begin()
      for (const agentId of new Set(report.agentsGone))
        await markAgentGone(warehouse.writer, workspaceId, agentId, dependencies.now())
      await endRun(warehouse.writer, { workspaceId, nowMs: dependencies.now(), ...report, run: request.run })
    },
  }
}
