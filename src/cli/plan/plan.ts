// `convohouse plan`: what a sync would read and cost; exports nothing.
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStores } from '../../app/stores.ts'
import { openApp } from '../../app.ts'
import { type Config, readConfig } from '../../config.ts'
import { budgetOf } from '../../core/governor/budget.ts'
import { planOnly } from '../../run/embedded.ts'
import { warehouseFile } from '../../warehouse/open.ts'
import { namedBy, withLines } from '../flags/ids-file.ts'
import { checkTogether, type SyncFlags } from '../flags/sync-flags.ts'
import { syncRequest } from '../flags/sync-request.ts'
import { workspacesFor } from '../flags/workspaces.ts'
import { lookUpIn } from '../sync/look-up.ts'
import { print, printJson } from '../terminal/print.ts'
import { stopOnSignals } from '../terminal/signals.ts'
import { isTerminal, styleOf } from '../terminal/style.ts'
import { layoutOf, type PlanFacts, planLines } from './plan-text.ts'

/** The plan, the budget and how long the plan takes, as one object. */
export const planJson = ({ workspaceId, prepared, nowMs }: PlanFacts): object => ({
  workspaceId,
  plan: prepared.plan,
  budget: budgetOf(prepared.governor, nowMs),
  layout: layoutOf(prepared, nowMs),
  ...(prepared.warnings && { warnings: prepared.warnings }),
  bought: false,
})

function show(facts: PlanFacts, asFlagged: boolean): void {
  const width = isTerminal(process.stdout) ? process.stdout.columns : undefined
  print(
    ...planLines(facts, { width, style: styleOf(process.stdout) }),
    '',
    `Nothing was exported. \`convohouse sync\`${asFlagged ? ' with the same flags' : ''} executes this plan.`,
  )
}

/** True when a sync without flags may do something else. */
const isFlagged = ({ json: _json, wait, ...others }: SyncFlags): boolean => !wait || Object.keys(others).length > 0

interface PlanningHome {
  config: Config
  remove(): Promise<void>
}

/** The data folder, or a temporary one when there is none yet: a plan creates no data folder, so none at a mistyped path. */
async function planningHome(config: Config): Promise<PlanningHome> {
  if (existsSync(warehouseFile(config.home)) || (await openStores(config.home).landing.exists()))
    return { config, remove: async () => {} }
  const home = await mkdtemp(join(tmpdir(), 'convohouse-plan-'))
  return { config: { ...config, home }, remove: () => rm(home, { recursive: true, force: true }) }
}

/** Plans each chosen workspace in turn, and prints it. */
export async function runPlan(flags: SyncFlags): Promise<void> {
  checkTogether(flags, Date.now())
  const configured = readConfig(flags.config === undefined ? {} : { path: flags.config })
  const workspaces = workspacesFor(configured, flags)
  const named = await namedBy(flags)
  const stop = stopOnSignals()
  const planning = await planningHome(configured)
  const { config } = planning
  const app = await openApp({ config })
  try {
    for (const workspace of workspaces) {
      const lookUp = lookUpIn(app, workspace.id)
      const request = await syncRequest({ flags, workspace, named, lookUp, nowMs: Date.now() })
      const prepared = await planOnly({ config, workspace, app, request, signal: stop.stopping }).catch(error => {
        throw withLines(error, named)
      })
      const facts = { workspaceId: workspace.id, prepared, nowMs: Date.now() }
      if (flags.json) printJson(planJson(facts))
      else show(facts, isFlagged(flags))
    }
  } finally {
    await app.close()
    await planning.remove()
    stop.release()
  }
}
