// Checks the contents of the warehouse: consistency rules, models, quarantined records, ids in service levels, and pages that are not loaded yet.

import { join } from 'node:path'
import type { WorkspaceConfig } from '../../config.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { count, counted } from '../../core/words.ts'
import type { LandingStore } from '../../landing/landing.ts'
import { readGaps } from '../../reports/gaps.ts'
import { countQuarantined } from '../../reports/quarantine.ts'
import { landingStatus, workspacesIn } from '../../reports/status.ts'
import { unknownAgents } from '../../reports/unknown-agents.ts'
import { unusableAgents } from '../../reports/unusable-agents.ts'
import { allChecks } from '../../warehouse/checks/all-checks.ts'
import type { Check } from '../../warehouse/checks/declaration.ts'
import { type CheckResult, runCheck } from '../../warehouse/checks/run-check.ts'
import { modelFiles } from '../../warehouse/models/declaration.ts'
import { wrongModels } from '../../warehouse/models/stored-models.ts'
import type { Rows } from '../../warehouse/query/rows.ts'
import { modelText } from '../status/status-text.ts'
import { gapText } from '../terminal/notes.ts'
import { examine, type Finding, fail, ok, skip, warn } from './findings.ts'

const RULES = { check: 'rules' }
const MODELS = { check: 'models' }
const AGENTS = { check: 'agents' }
const QUARANTINE = { check: 'quarantine' }
const WORKSPACES = { check: 'workspaces' }

/** The finding about a check of the tables; null if it passed. */
function ruleFinding({ name, severity, isOwn }: Check, result: CheckResult): Finding | null {
  const { outcome, violations, error } = result
  if (outcome === 'passed') return null
  if (outcome === 'timeout') return skip(RULES, `${name} takes too long`)
  if (outcome === 'broken') return warn(RULES, `your check ${name} cannot run: ${error}`, 'Correct its file.')
  const what = `${counted(violations!, 'row violates', 'rows violate')} the rule ${name}.`
  const hint = isOwn
    ? `\`convohouse check ${name}\` shows which.`
    : 'Run `convohouse replay`, which rebuilds the tables from the landing, and please report it with the name of the rule.'
  if (severity === 'warn') return warn(RULES, what, hint)
  return fail(RULES, new ConvohouseError('WAREHOUSE_UNSOUND', { what, hint }))
}

function rulesFindings(rows: Rows, folder: string | null): Promise<Finding[]> {
  return examine(RULES, async () => {
    const checks = await allChecks(folder)
    const found: Finding[] = []
    const inapplicable: string[] = []
    for (const check of checks) {
      const result = await runCheck(rows, check)
      // A warehouse of another version may lack tables or columns that the rule reads.
      const isInapplicable = result.outcome === 'broken' && !check.isOwn
      if (isInapplicable) inapplicable.push(check.name)
      const finding = isInapplicable ? null : ruleFinding(check, result)
      if (finding) found.push(finding)
    }
    if (inapplicable.length > 0) {
      const what = counted(inapplicable.length, 'rule reads', 'rules read')
      found.push(skip(RULES, `${what} what a sync of this version adds to the warehouse: ${inapplicable.join(', ')}`))
    }
    return found.length > 0 ? found : [ok(RULES, `all ${count(checks.length)} hold`)]
  })
}

/** Models that are not built, and a folder that cannot be read. */
function modelsFindings(rows: Rows, folder: string | null): Promise<Finding[]> {
  return examine(MODELS, async () => {
    if (folder === null) return []
    const files = await modelFiles(folder)
    const wrong = await wrongModels({ rows })
    if (wrong.length === 0) return [ok(MODELS, `${counted(files.length, 'model')}, none with an error`)]
    return wrong.map(model => {
      const { name, error, hint } = model
      return warn(MODELS, `${join(folder, `${name}.sql`)} ${modelText(model)}: ${error}`, hint ?? 'Correct the file.')
    })
  })
}

function quarantineFindings(rows: Rows): Promise<Finding[]> {
  return examine(QUARANTINE, async () => {
    const n = await countQuarantined(rows)
    if (n === 0) return [ok(QUARANTINE, 'every landed record was loaded')]
    const hint = '`convohouse quarantine list` shows which and why. They stay in the landing.'
    return [warn(QUARANTINE, `${counted(n, 'record')} could not be loaded`, hint)]
  })
}

/** Warns of agents whose id cannot be part of a URL. */
function agentsFindings(rows: Rows): Promise<Finding[]> {
  return examine(AGENTS, async () => {
    const unusable = await unusableAgents(rows)
    if (unusable.length === 0) return []
    const hint = 'Report it to the vendor: an ID must not be "." or ".." or contain NUL. All other agents are exported.'
    const ids = unusable.map(id => JSON.stringify(id)).join(', ')
    const found =
      unusable.length === 1
        ? `agent ${ids} is not exported: its ID cannot be part of a URL`
        : `agents ${ids} are not exported: their IDs cannot be part of a URL`
    return [warn(AGENTS, found, hint)]
  })
}

/** Warns of ranges that could not be read. */
function gapsFindings(rows: Rows, workspaceId: string): Promise<Finding[]> {
  const subject = { check: 'gaps', workspaceId }
  return examine(subject, async () => {
    const gaps = await readGaps({ rows }, workspaceId, Date.now())
    const hint = 'Syncs request it again after that time. Show the error to the vendor.'
    return gaps.map(gap => warn(subject, gapText(gap), hint))
  })
}

/** Warns of agents in service levels that are most likely mistyped: these rules apply to no conversation of theirs. */
function serviceLevelFindings(rows: Rows, { id, responseRules }: WorkspaceConfig): Promise<Finding[]> {
  const subject = { check: 'service levels', workspaceId: id }
  return examine(subject, async () => {
    const unknown = await unknownAgents(rows, id, responseRules.serviceLevels)
    if (unknown.length === 0) return []
    const hint =
      'Correct `agents` in `sla` of the workspace. An id is also right, if the agent is new and no sync has listed it.'
    return [warn(subject, `no agent of the workspace is ${unknown.map(one => JSON.stringify(one)).join(', ')}`, hint)]
  })
}

/** Warns of workspaces that are in the warehouse but no longer configured, and therefore no longer synced. */
function workspacesFindings(rows: Rows, configured: readonly string[]): Promise<Finding[]> {
  return examine(WORKSPACES, async () => {
    const others = (await workspacesIn(rows)).filter(id => !configured.includes(id))
    if (others.length === 0) return []
    const hint = 'To sync them again, configure them. Their stored data is kept, even after a replay.'
    return [warn(WORKSPACES, `in the warehouse but not configured: ${others.join(', ')}`, hint)]
  })
}

function loadsFindings(options: {
  rows: Rows
  landing: LandingStore
  workspaceId: string
  held: boolean
}): Promise<Finding[]> {
  const { rows, landing, workspaceId, held } = options
  const subject = { check: 'loads', workspaceId }
  return examine(subject, async () => {
    const { pages, notLoaded } = await landingStatus(landing.workspace(workspaceId), workspaceId, rows)
    if (notLoaded === 0) return [ok(subject, `${counted(pages, 'landed page is', 'landed pages are')} in the tables`)]
    const found = `${count(notLoaded)} of ${counted(pages, 'landed page')} ${notLoaded === 1 ? 'is' : 'are'} not in the tables yet`
    if (held) return [ok(subject, `${found}: the process that holds the warehouse is loading them`)]
    return [
      warn(
        subject,
        found,
        'The next sync loads them and reports those that it cannot load; `convohouse replay` reloads all.',
      ),
    ]
  })
}

interface ContentsOptions {
  rows: Rows
  landing: LandingStore
  /** The workspaces to check. */
  workspaces: readonly WorkspaceConfig[]
  /** All configured workspaces; null if unknown. */
  configured: readonly string[] | null
  held: boolean
  /** Folder of the user's own checks; null: none. */
  checks: string | null
  /** Folder of the user's models; null: none. */
  models: string | null
}

export async function contentsChecks({
  rows,
  landing,
  workspaces,
  configured,
  held,
  checks,
  models,
}: ContentsOptions): Promise<Finding[]> {
  const findings = [
    ...(await rulesFindings(rows, checks)),
    ...(await modelsFindings(rows, models)),
    ...(await quarantineFindings(rows)),
    ...(await agentsFindings(rows)),
  ]
  for (const workspace of workspaces) {
    findings.push(...(await loadsFindings({ rows, landing, workspaceId: workspace.id, held })))
    findings.push(...(await gapsFindings(rows, workspace.id)))
    findings.push(...(await serviceLevelFindings(rows, workspace)))
  }
  if (configured) findings.push(...(await workspacesFindings(rows, configured)))
  return findings
}
