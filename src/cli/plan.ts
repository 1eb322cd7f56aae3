// `convohouse plan`: shows what a sync would read and cost, and how much of rate limit and quota is left. Exports
// nothing. If another process holds the warehouse, that process plans, using its own configuration.

import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import type { Prepared } from '../../workflows/steps.ts'
import { openStores } from '../app/stores.ts'
import { workspaceOf } from '../app/workspace-context.ts'
import { type App, openApp } from '../app.ts'
import type { Config } from '../config.ts'
import { isCode } from '../core/errors.ts'
import { type Budget, budgetOf } from '../core/governor/budget.ts'
import { type Estimate, PERIOD_DAYS } from '../core/planning/estimate.ts'
import type { PlannedWindow } from '../core/planning/planner.ts'
import { layoutOf, priceLines } from '../core/planning/price.ts'
import { isById } from '../core/planning/windows.ts'
import { MINUTE } from '../core/time.ts'
import { count, counted, range, utc } from '../core/words.ts'
import { planOnly } from '../run/embedded.ts'
import { askHolder } from '../warehouse/query/http/holder-client.ts'
import { locallyOrByHolder } from '../warehouse/query/warehouse-client.ts'
import { warehouseFile } from '../warehouse/warehouse-file.ts'
import { configAt, workspacesFor } from './flags/configuration.ts'
import { idsToRequest, type NamedConversation } from './flags/ids-file.ts'
import { addSyncFlags, checkTogether, type SyncFlags } from './flags/sync-flags.ts'
import { lookUpIn, syncRequest } from './flags/sync-request.ts'
import { nothingToRead } from './sync/progress-text.ts'
import { type GridOptions, grid, gridOnStdout } from './terminal/columns.ts'
import { economyTexts, gapLines, quotaNotes } from './terminal/notes.ts'
import { linesIf, print, printJson } from './terminal/print.ts'
import { stopOnSignals } from './terminal/signals.ts'

export const define = (command: Command): Command =>
  addSyncFlags(command)
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse plan                          all agents of all configured workspaces
  $ convohouse plan --since 90d              for the last 90 days only
  $ convohouse plan --agent a_1 --full       what exporting one agent again would cost
  $ convohouse plan --json | jq .budget      what is left this hour and this period

While a sync, \`up\` or a worker runs, that process plans, by the configuration that it has read.`,
    )
    .action(async (flags: SyncFlags) => {
      await runPlan(flags)
    })

const COLUMNS = [
  { name: 'agent', isWhole: true },
  { name: 'title' },
  { name: 'kind' },
  { name: 'from (UTC)' },
  { name: 'to (UTC)' },
  { name: 'state' },
  { name: 'conversations', right: true },
  { name: 'requests', right: true },
  { name: 'sessions', right: true },
]

/** Kinds of windows as text; landed names keep `tail` for history. */
const kindText = (kind: string): string => (kind === 'tail' ? 'history' : kind)

const rangeOr = (estimate: Estimate | null, part: keyof Estimate): string =>
  estimate ? range(estimate[part]) : 'unknown'

function bounds({ window }: PlannedWindow['progress']): [string, string] {
  if (isById(window.kind)) return [counted(window.ids?.length ?? 0, 'id'), '']
  return [window.fromSec === null ? 'the beginning' : utc(window.fromSec * 1_000), utc(window.toSec * 1_000)]
}

function windowRow(
  { progress, resumes, estimate }: PlannedWindow,
  titles: ReadonlyMap<string, string | null>,
): string[] {
  const { agentId, kind } = progress.window
  const state = resumes ? `resumes after ${counted(progress.pages, 'page')}` : 'new'
  const prices = (['conversations', 'requests', 'sessions'] as const).map(part => rangeOr(estimate, part))
  return [agentId, titles.get(agentId) ?? '', kindText(kind), ...bounds(progress), state, ...prices]
}

/** Describes how much of the rate limit and of the quota is left. */
function budgetLines({ rateLimit, quota, reserveForNewSessions }: Budget): string[] {
  const requests = `${count(rateLimit.requestsLeft)} of ${counted(rateLimit.requestsPerHour, 'request')} this hour`
  const sessions = quota.known
    ? `${count(quota.sessionsLeft)} of ${counted(quota.allowedSessions, 'session')} this period${quotaNotes(quota)}`
    : `sessions unknown until the first answer (${count(quota.includedSessions)} per period according to the API document)`
  return [
    `Left: ${requests}; ${sessions}.`,
    `Reserved for new conversations: ${counted(reserveForNewSessions, 'session')} of the period.`,
  ]
}

/** States the assumed length of a billing period, since the vendor does not report when a period ends. */
const PERIOD_LINE = `The vendor does not report the length of a billing period; ${PERIOD_DAYS} days are assumed.`

const resourceLine = (requests: number): string =>
  `Other resources: ${counted(requests, 'request')} at least at the end of the sync; not metered.`

/** Returns the plan's totals, duration and budget, without the list of windows. */
export function planSummary({ prepared, nowMs, resourceRequests }: PlanFacts): string[] {
  const { plan, governor, warnings = [], gaps } = prepared
  return [
    ...(plan.windows.length === 0 ? [`${nothingToRead(plan).replace('n', 'N')}.`] : priceLines(prepared, nowMs)),
    ...linesIf(resourceRequests > 0, resourceLine(resourceRequests)),
    ...budgetLines(budgetOf(governor, nowMs)),
    ...linesIf(governor.quota.known, PERIOD_LINE),
    ...economyTexts(plan).map(text => `${text.replace(/^r/, 'R')}.`),
    ...warnings.map(warning => `Warning: ${warning}`),
    ...gapLines(gaps),
  ]
}

/** Returns the plan as text: the list of windows, then the summary. */
export function planLines(facts: PlanFacts, options: GridOptions = {}): string[] {
  const { agents, plan } = facts.prepared
  const titles = new Map(agents.map(({ agentId, title }) => [agentId, title]))
  const rows = plan.windows.map(window => windowRow(window, titles))
  const table = rows.length > 0 ? [...grid(COLUMNS, rows, options), ''] : []
  return [`Plan for workspace ${facts.workspaceId}`, '', ...table, ...planSummary(facts)]
}

/** Returns the plan, the budget and the duration as one object. */
const planJson = ({ workspaceId, prepared, resourceRequests, nowMs }: PlanFacts): object => ({
  workspaceId,
  plan: prepared.plan,
  budget: budgetOf(prepared.governor, nowMs),
  layout: layoutOf(prepared, nowMs),
  resourceRequests,
  ...(prepared.warnings && { warnings: prepared.warnings }),
  ...(prepared.gaps && { gaps: prepared.gaps }),
  exported: false,
})

function show(facts: PlanFacts, asFlagged: boolean): void {
  print(
    ...planLines(facts, gridOnStdout()),
    '',
    `Nothing was exported. \`convohouse sync\`${asFlagged ? ' with the same flags' : ''} executes this plan.`,
  )
}

/** True if a sync without these flags might behave differently. */
const isFlagged = ({ json: _json, wait, ...others }: SyncFlags): boolean => !wait || Object.keys(others).length > 0

interface PlanningHome {
  config: Config
  remove(): Promise<void>
}

/** Returns the data folder, or a temporary one if it does not exist: a plan must not create a folder at a mistyped path. */
async function planningHome(config: Config): Promise<PlanningHome> {
  if (existsSync(warehouseFile(config.home)) || (await openStores(config.home).landing.exists()))
    return { config, remove: async () => {} }
  const home = await mkdtemp(join(tmpdir(), 'convohouse-plan-'))
  return { config: { ...config, home }, remove: () => rm(home, { recursive: true, force: true }) }
}

/** Plans each chosen workspace in turn, and prints the plan. */
async function runPlan(flags: SyncFlags): Promise<void> {
  checkTogether(flags, Date.now())
  const configured = configAt(flags.config)
  const workspaces = workspacesFor(configured, flags)
  const named = await idsToRequest(flags, { home: configured.home, workspaceId: workspaces[0]!.id })
  const stop = stopOnSignals()
  const planning = await planningHome(configured)
  const planner = openPlanner(planning.config, stop.stopping)
  try {
    for (const { id: workspaceId } of workspaces) {
      const facts = await planner.plan({ workspaceId, flags, named })
      if (flags.json) printJson(planJson(facts))
      else show(facts, isFlagged(flags))
    }
  } finally {
    await planner.close()
    await planning.remove()
    stop.release()
  }
}

export interface PlanFacts {
  workspaceId: string
  prepared: Prepared
  /** Minimum number of requests for other API resources at the end of the sync. */
  resourceRequests: number
  nowMs: number
}

/** Plain JSON. */
interface PlanQuestion {
  workspaceId: string
  flags: SyncFlags
  named: readonly NamedConversation[] | null
}

/** Path of plans on the query socket. */
export const PLAN_PATH = '/plan'

/** Plans one workspace. `beside`: other runs of this process may use it. @throws FLAG_INVALID, AGENT_UNKNOWN, WORKSPACE_UNKNOWN */
export const answerPlan =
  ({ config, app, beside }: { config: Config; app: App; beside: boolean }) =>
  async (question: unknown, signal: AbortSignal): Promise<PlanFacts> => {
    const { workspaceId, flags, named } = question as PlanQuestion
    const workspace = workspaceOf(config, workspaceId)
    const lookUp = lookUpIn(app, workspaceId)
    const request = await syncRequest({ flags, workspace, named, lookUp, nowMs: Date.now() })
    const planned = await planOnly({ config, workspace, app, request, signal, beside })
    const { resourceRequests, ...prepared } = planned
    return { workspaceId, prepared, resourceRequests, nowMs: Date.now() }
  }

/** Time limit for one plan. A vendor that does not answer is asked several times. */
const TIMEOUT_MS = 10 * MINUTE

/** Opens the warehouse for the first plan, unless another process holds it. */
function openPlanner(config: Config, signal: AbortSignal) {
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
