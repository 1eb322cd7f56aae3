// A workspace's drain steps, one instance per process, so that concurrent callers drain one after the other.
import type { App } from '../app.ts'
import type { WorkspaceConfig } from '../config.ts'
import { type SpoolSteps, spoolSteps } from '../steps/events/drain.ts'

export function spoolOf(options: {
  app: App
  home: string
  workspace: Pick<WorkspaceConfig, 'id' | 'timeZone'>
  now: () => number
}): SpoolSteps {
  const { app, home, workspace, now } = options
  const known = app.spools.get(workspace.id)
  if (known) return known
  const { writer } = app.warehouse
  const steps = spoolSteps({ home, workspaceId: workspace.id, timeZone: workspace.timeZone, writer, now })
  app.spools.set(workspace.id, steps)
  return steps
}
