// The steps of draining a workspace's spool, of whoever holds the warehouse: one piece after the other, whoever asks.
import type { House } from '../app.ts'
import type { WorkspaceConfig } from '../config.ts'
import { type SpoolSteps, spoolSteps } from '../steps/drain.ts'

export function spoolOf(options: {
  house: House
  home: string
  workspace: Pick<WorkspaceConfig, 'id' | 'timeZone'>
  now: () => number
}): SpoolSteps {
  const { house, home, workspace, now } = options
  const known = house.spools.get(workspace.id)
  if (known) return known
  const { writer } = house.warehouse
  const steps = spoolSteps({ home, workspaceId: workspace.id, timeZone: workspace.timeZone, writer, now })
  house.spools.set(workspace.id, steps)
  return steps
}
