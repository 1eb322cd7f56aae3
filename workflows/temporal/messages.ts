// What a workspace's owner may be told and asked, by name.
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow'
import type { Allowance } from '../../src/core/allowance.ts'
import type { GovernorState } from '../../src/core/governor.ts'
import type { PlanSummary } from '../plan-summary.ts'
import type { Progress } from '../progress.ts'
import type { AcceptedRequest } from '../requests.ts'
import type { SyncRequest } from '../steps.ts'

export const askUpdate = defineUpdate<AcceptedRequest, [Omit<SyncRequest, 'run'>]>('ask')
export const askSignal = defineSignal<[Omit<SyncRequest, 'run'>]>('ask')
export const pauseUpdate = defineUpdate<Progress>('pause')
export const pauseSignal = defineSignal('pause')
export const resumeUpdate = defineUpdate<Progress>('resume')
export const resumeSignal = defineSignal('resume')
export const raiseBudgetUpdate = defineUpdate<GovernorState['options'] | null, [Allowance]>('raiseBudget')
export const refreshUpdate = defineUpdate<AcceptedRequest, [Record<string, string[]>]>('refresh')
export const progressQuery = defineQuery<Progress>('progress')
export const planQuery = defineQuery<PlanSummary | null>('plan')
export const budgetQuery = defineQuery<GovernorState | null>('budget')
