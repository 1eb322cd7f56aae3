// Plans in this process or, while another one holds the warehouse, in that process and by its configuration.
import type { Prepared } from '../../../workflows/steps.ts'
import { workspaceOf } from '../../app/workspace-context.ts'
import { type App, openApp } from '../../app.ts'
import type { Config } from '../../config.ts'
import { isCode } from '../../core/errors.ts'
import { MINUTE } from '../../core/time.ts'
import { planOnly } from '../../run/embedded.ts'
import { askHolder } from '../../warehouse/query/http/holder-client.ts'
import { locallyOrByHolder } from '../../warehouse/query/warehouse-client.ts'
import { type NamedConversation, withLines } from '../flags/ids-file.ts'
import type { SyncFlags } from '../flags/sync-flags.ts'
import { lookUpIn, syncRequest } from '../flags/sync-request.ts'

export interface PlanFacts {
  workspaceId: string
  prepared: Prepared
  /** Requests for other API resources at the end of the sync, at least. */
  resourceRequests: number
  nowMs: number
}

/** Plain JSON. */
interface PlanQuestion {
  workspaceId: string
  flags: SyncFlags
  named: readonly NamedConversation[] | null
}

/** The path of plans on the query socket. */
export const PLAN_PATH = '/plan'

/** Plans one workspace. `beside`: other runs of this process may be working on it. @throws FLAG_INVALID, AGENT_UNKNOWN, WORKSPACE_UNKNOWN, and access errors of the vendor */
export const answerPlan =
  ({ config, app, beside }: { config: Config; app: App; beside: boolean }) =>
  async (question: unknown, signal: AbortSignal): Promise<PlanFacts> => {
    const { workspaceId, flags, named } = question as PlanQuestion
    const workspace = workspaceOf(config, workspaceId)
    const lookUp = lookUpIn(app, workspaceId)
    const request = await syncRequest({ flags, workspace, named, lookUp, nowMs: Date.now() })
    const planned = await planOnly({ config, workspace, app, request, signal, beside }).catch(error => {
      throw withLines(error, named)
    })
    const { resourceRequests, ...prepared } = planned
    return { workspaceId, prepared, resourceRequests, nowMs: Date.now() }
  }

/** Longest time for one plan. A vendor that does not answer is asked several times. */
const TIMEOUT_MS = 10 * MINUTE

/** Opens the warehouse for the first plan, unless another process holds it. */
export function openPlanner(config: Config, signal: AbortSignal) {
  let app: App | null = null
  return {
    /** @throws as `answerPlan`, and WAREHOUSE_LOCKED if the process that holds the warehouse does not plan */
    plan(question: PlanQuestion): Promise<PlanFacts> {
      const locally = async () => {
        app ??= await openApp({ config })
        return answerPlan({ config, app, beside: false })(question, signal)
      }
      const asked = { home: config.home, path: PLAN_PATH, question, timeoutMs: TIMEOUT_MS, signal }
      const ask = () => locallyOrByHolder(locally, () => askHolder<PlanFacts>(asked), signal)
      return ask().catch(error => {
        // The holder ended while it planned, so the warehouse is free now.
        if (!signal.aborted && isCode(error, 'INTERRUPTED', 'WAREHOUSE_ENDED')) return ask()
        throw error
      })
    },
    close: async () => app?.close(),
  }
}
