// What a worker holds for each workspace for as long as it lives: vendor client, landing and ledger, opened when they are first
// asked for. The token is read here, from where the configuration says: it never comes with a task.
import { newRunId, openSource, withReleasers } from '../app.ts'
import { type Clock, systemClock } from '../clock.ts'
import type { Config, WorkspaceConfig } from '../config.ts'
import { ConvohouseError } from '../core/errors.ts'
import { type ExportSteps, makeExportSteps, type WorkspaceContext } from '../steps/export-steps.ts'

export interface WorkspaceContexts {
  /** @throws WORKSPACE_UNKNOWN, TOKEN_MISSING, HOME_UNUSABLE */
  of(workspaceId: string): Promise<{ workspaceContext: WorkspaceContext; steps: ExportSteps }>
  close(): Promise<void>
}

export interface WorkspaceContextOptions {
  config: Config
  /** How long a lease may be used, ms. */
  leaseMs: number
  /** Of a command of which a process holds the warehouse whenever one uses a lease: leases of another id are dead where the warehouse is ours. */
  holder?: string
  clock?: Clock
}

type Opened = { workspaceContext: WorkspaceContext; steps: ExportSteps; close(): Promise<void> }

function openStation(options: WorkspaceContextOptions, workspace: WorkspaceConfig): Promise<Opened> {
  const { config, leaseMs, holder, clock = systemClock } = options
  return withReleasers(async acquire => {
    const never = new AbortController().signal
    // A file of the ledger has one writer: its name is this process's own.
    const run = newRunId()
    const source = await openSource(acquire, { home: config.home, workspace, run, clock, signal: never })
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
    what: `${source} of this worker names no workspace ${JSON.stringify(workspaceId)}.`,
    hint: 'Give all workers the same configuration.',
  })
}

export function openWorkspaceContexts(options: WorkspaceContextOptions): WorkspaceContexts {
  const opened = new Map<string, Promise<Opened>>()
  return {
    of(workspaceId) {
      const known = opened.get(workspaceId)
      if (known) return known
      const opening = openStation(options, workspaceOf(options.config, workspaceId))
      opened.set(workspaceId, opening)
      // What could not be opened is tried anew by the next task.
      opening.catch(() => opened.delete(workspaceId))
      return opening
    },
    async close() {
      for (const opening of opened.values()) await (await opening.catch(() => null))?.close()
    },
  }
}
