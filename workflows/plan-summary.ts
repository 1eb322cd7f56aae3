// A plan as those are told of it who look on: small enough that each run of a workflow hands it to the next.
import type { Plan } from '../src/core/planner.ts'

/** A window's name says when it was planned, what kind it is, and its bounds. */
export interface PlanSummary extends Omit<Plan, 'windows'> {
  windows: { agentId: string; name: string; resumes: boolean }[]
}

/** Windows by reference: neither how far they are, which changes, nor what each is priced at, nor the ids of those by id. */
export const planSummary = ({ windows, ...plan }: Plan): PlanSummary => ({
  ...plan,
  windows: windows.map(({ progress: { window }, resumes }) => ({
    agentId: window.agentId,
    name: window.name,
    resumes,
  })),
})

export const agentsOf = ({ windows }: PlanSummary): number => new Set(windows.map(({ agentId }) => agentId)).size
