// A worker's resources per workspace: vendor client, landing and lease log, opened on first use and kept until the
// worker ends. The token is read here, from the configured source; it never travels with a task.
import { hostname } from 'node:os'
import type { PlannedFrom } from '../../workflows/steps.ts'
import { newRunId, openSource, withReleasers } from '../app.ts'
import { type Clock, systemClock } from '../clock.ts'
import type { Config, WorkspaceConfig } from '../config.ts'
import { ConvohouseError } from '../core/errors.ts'
import { type ExportSteps, makeExportSteps, type WorkspaceContext } from '../steps/export/export-steps.ts'
import { openStores } from './stores.ts'

export interface WorkspaceContexts {
  /** @throws WORKSPACE_UNKNOWN, TOKEN_MISSING, HOME_UNUSABLE; LANDING_DIFFERS if the plan was made from another landing */
  of(work: { workspaceId: string } & PlannedFrom): Promise<{ workspaceContext: WorkspaceContext; steps: ExportSteps }>
  /** Checks the disk reserve, which an earlier lease may have used up. @throws HOME_UNUSABLE if no page may be requested */
  reserve(): Promise<void>
  close(): Promise<void>
}

interface WorkspaceContextOptions {
  config: Config
  /** Lifetime of a lease, ms. */
  leaseMs: number
  /** The process of this command that uses leases (`holderOf`); omitted if leases name no process. */
  holder?: string
  clock?: Clock
  /** Called with each LANDING_DIFFERS. */
  refused?: (error: ConvohouseError) => void
}

type Opened = { workspaceContext: WorkspaceContext; steps: ExportSteps; close(): Promise<void> }

function openContext(options: WorkspaceContextOptions, workspace: WorkspaceConfig): Promise<Opened> {
  const { config, leaseMs, holder, clock = systemClock } = options
  return withReleasers(async acquire => {
    const never = new AbortController().signal
    // A lease log file has one writer, so its name is unique to this process.
    const run = newRunId()
    const source = await openSource(acquire, { stores: openStores(config.home), workspace, run, clock, signal: never })
    const settings = { ...workspace, leaseMs }
    const workspaceContext: WorkspaceContext = {
      ...source,
      ...(holder !== undefined && { holder }),
      settings,
      timeoutMs: workspace.timeoutMs,
    }
    return { workspaceContext, steps: makeExportSteps(workspaceContext) }
  })
}

/** @throws WORKSPACE_UNKNOWN */
export function workspaceOf({ workspaces, source }: Config, workspaceId: string): WorkspaceConfig {
  const workspace = workspaces.find(({ id }) => id === workspaceId)
  if (workspace) return workspace
  throw new ConvohouseError('WORKSPACE_UNKNOWN', {
    what: `This worker's configuration (${source}) has no workspace ${JSON.stringify(workspaceId)}.`,
    hint: 'Give all workers the same configuration.',
  })
}

/** Returns the error of a worker whose landing differs from that of the sync or of another worker (`others`). */
export const landingDiffers = (home: string, own: string, others: string): ConvohouseError =>
  new ConvohouseError('LANDING_DIFFERS', {
    what: `The data folder ${home} of the worker on ${hostname()} (PID ${process.pid}) has the landing ${own}, but ${others}. Nothing was requested.`,
    hint: 'Stop this worker, or give all workers of the task queue the same data folder (`home`); workers with a data folder of their own need other queues (`temporal.queues`). `convohouse status` shows the landing of a folder.',
  })

export function openWorkspaceContexts(options: WorkspaceContextOptions): WorkspaceContexts {
  const { config, refused = () => {} } = options
  const opened = new Map<string, Promise<Opened>>()
  const stores = openStores(config.home)

  async function expectLanding(planned: string | undefined): Promise<void> {
    const own = await stores.landing.ensureId()
    if (planned === undefined || planned === own) return
    const error = landingDiffers(config.home, own, `this sync was planned from the landing ${planned}`)
    refused(error)
    throw error
  }

  return {
    async of({ workspaceId, landingId }) {
      await expectLanding(landingId)
      const known = opened.get(workspaceId)
      if (known) return known
      const opening = openContext(options, workspaceOf(config, workspaceId))
      opened.set(workspaceId, opening)
      // Forgets a failed attempt, so that the next task tries again.
      opening.catch(() => opened.delete(workspaceId))
      return opening
    },
    reserve: stores.landing.reserve,
    async close() {
      for (const opening of opened.values()) await (await opening.catch(() => null))?.close()
    },
  }
}
