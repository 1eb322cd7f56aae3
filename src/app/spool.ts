// The steps of draining a workspace's spool, of whoever holds the warehouse: one piece after the other, whoever asks.
import type { IngestSteps } from '../../workflows/steps.ts'
import type { House } from '../app.ts'
import type { WorkspaceConfig } from '../config.ts'
import { spoolSteps } from '../steps/drain.ts'

const opened = new WeakMap<House, Map<string, IngestSteps>>()

export function spoolOf(options: {
  house: House
  home: string
  workspace: Pick<WorkspaceConfig, 'id' | 'timeZone'>
  now: () => number
}): IngestSteps {
  const { house, home, workspace, now } = options
  const ofHouse = opened.get(house) ?? new Map<string, IngestSteps>()
  opened.set(house, ofHouse)
  const known = ofHouse.get(workspace.id)
  if (known) return known
  const { writer } = house.warehouse
  const steps = spoolSteps({ home, workspaceId: workspace.id, timeZone: workspace.timeZone, writer, now })
  ofHouse.set(workspace.id, steps)
  return steps
}
