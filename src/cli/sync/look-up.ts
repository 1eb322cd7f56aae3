// Finds the agents of conversations in the warehouse.
import type { App } from '../../app.ts'
import { agentsOfConversations } from '../../warehouse/planning/planner-queries.ts'
import type { LookUp } from '../flags/ids-file.ts'

export const lookUpIn =
  ({ warehouse }: App, workspaceId: string): LookUp =>
  ids =>
    agentsOfConversations(warehouse.writer, workspaceId, ids)
