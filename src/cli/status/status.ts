// `convohouse status`: shows what is stored, how current it is, and how much quota is left. Reads only the data folder.
import type { Command } from 'commander'
import { openStores } from '../../app/stores.ts'
import { isCode } from '../../core/errors.ts'
import type { Overdue } from '../../core/overdue.ts'
import { bytes } from '../../core/words.ts'
import { warehouseSize } from '../../files/stored-bytes.ts'
import { type ErasureStatus, filledTargets, readErasures } from '../../reports/erasures.ts'
import { type RefusedStatus, refusedStatus } from '../../reports/events.ts'
import { overdueTarget } from '../../reports/freshness.ts'
import { type TargetStatus, targetStatuses } from '../../reports/publications.ts'
import { type WorkspaceStatus, workspaceStatus, workspacesIn } from '../../reports/status.ts'
import { type StoredResult, storedResults } from '../../warehouse/checks/results.ts'
import { type StoredModel, wrongModels } from '../../warehouse/models/stored-models.ts'
import { type Rows, withWarehouseRows } from '../../warehouse/query/rows.ts'
import { type HeldStatement, heldStatements } from '../../warehouse/statements/held.ts'
import { warehouseFile } from '../../warehouse/warehouse-file.ts'
import { openLines } from '../erasures.ts'
import { chooseIds, configIfAny, type Storage, storageOf } from '../flags/configuration.ts'
import { addConfigFlag, addMaxAgeFlag, addWorkspaceFlag } from '../flags/sync-flags.ts'
import { gridOnStdout } from '../terminal/columns.ts'
import { print, printJson } from '../terminal/print.ts'
import { checkLines, heldLines, modelLines, refusedLines, targetLines, workspaceLines } from './status-text.ts'

export const define = (command: Command): Command =>
  addMaxAgeFlag(addWorkspaceFlag(addConfigFlag(command)))
    .option('--json', 'one JSON object, for machines')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse status                                    works while a sync runs
  $ convohouse status --json | jq '.workspaces[].quota'

It marks data that is older than its schedule allows, and exits with 0; \`convohouse doctor\` exits with 1.`,
    )
    .action(async (flags: StatusFlags) => {
      await runStatus(flags)
    })

export interface StatusFlags {
  config?: string
  workspace?: string
  /** ms. */
  maxAge?: number
  json?: boolean
}

/** Opens access to the warehouse, and lists its workspaces; `rows` is null if there is no warehouse yet. @throws WAREHOUSE_LAYOUT */
async function rowsIfAny(rows: Rows): Promise<{ rows: Rows | null; known: string[] }> {
  try {
    return { rows, known: await workspacesIn(rows) }
  } catch (error) {
    if (isCode(error, 'WAREHOUSE_MISSING')) return { rows: null, known: [] }
    throw error
  }
}

interface Shown {
  statuses: WorkspaceStatus[]
  /** Refused webhooks that cannot be attributed to a workspace. */
  refused: RefusedStatus[]
  /** Checks of the tables that did not pass when they last ran. */
  checks: StoredResult[]
  /** Models whose last build failed. */
  models: StoredModel[]
  targets: (TargetStatus & { overdue: Overdue[] })[]
  /** Erasures that a place has not confirmed. */
  erasures: ErasureStatus[]
  /** Statements that ended a process, and are refused. */
  held: HeldStatement[]
  size: number
  /** Null before the first sync. */
  landingId: string | null
}

function show(
  { statuses, refused, checks, models, targets, erasures, held, size, landingId }: Shown,
  storage: Storage,
): void {
  const options = gridOnStdout()
  const nowMs = Date.now()
  print(
    size > 0
      ? `Warehouse ${warehouseFile(storage.home)}, ${bytes(size)}`
      : `There is no warehouse in ${storage.home} yet: run \`convohouse sync\`, or set the right data folder (\`home\`, CONVOHOUSE_HOME).`,
  )
  if (landingId !== null) print(`Landing ${landingId}`)
  if (refused.length > 0) print('', 'Webhooks of an unknown workspace', ...refusedLines(refused, nowMs))
  if (checks.length > 0) print('', ...checkLines(checks, nowMs))
  if (models.length > 0) print('', ...modelLines(models, nowMs))
  if (held.length > 0) print('', ...heldLines(held, nowMs))
  if (erasures.length > 0) print('', 'Erasures that are not complete', ...erasures.flatMap(openLines))
  for (const status of statuses) print('', ...workspaceLines(status, nowMs, options))
  for (const target of targets) print('', ...targetLines(target, nowMs, options.style))
}

async function statusesOf(
  flags: StatusFlags,
  storage: Storage,
  { rows: query, isHeld }: { rows: Rows; isHeld: () => boolean },
): Promise<Pick<Shown, 'statuses' | 'targets' | 'erasures'>> {
  const config = configIfAny(flags.config)
  const { rows, known } = await rowsIfAny(query)
  const configured = config ? config.workspaces : []
  const all = [...new Set([...configured.map(({ id }) => id), ...known])]
  const stores = openStores(storage.home)
  const statuses: WorkspaceStatus[] = []
  for (const workspaceId of chooseIds(all, flags.workspace)) {
    const settings = configured.find(({ id }) => id === workspaceId)
    const [landing, leaseLog] = [stores.landing.workspace(workspaceId), stores.leaseLog({ workspaceId, run: 'status' })]
    const options = { home: storage.home, landing, leaseLog, workspaceId, settings, rows, isHeld, nowMs: Date.now() }
    statuses.push(await workspaceStatus({ ...options, maxAgeMs: flags.maxAge }))
  }
  const nowMs = Date.now()
  const targets = config ? await targetStatuses(rows, config.targets, nowMs) : []
  const allowed = { everyMs: config?.publish.everyMs ?? 0, nowMs, maxAgeMs: flags.maxAge }
  const judged = targets.map(one => ({ ...one, overdue: overdueTarget(one, allowed) }))
  const erasures = await readErasures(rows, { home: storage.home, targets: config ? filledTargets(config) : [] })
  return { statuses, targets: judged, erasures: erasures.filter(({ open }) => open.length > 0) }
}

/** Returns the last results of checks that did not pass; none without a warehouse. */
const wrongChecks = async (rows: Rows): Promise<StoredResult[]> =>
  (await ifAny(storedResults({ rows }))).filter(({ outcome }) => outcome !== 'passed')

/** Returns the results, or none without a warehouse. */
const ifAny = <T>(results: Promise<T[]>): Promise<T[]> =>
  results.catch(error => {
    if (isCode(error, 'WAREHOUSE_MISSING')) return []
    throw error
  })

/** @throws CONFIG_INVALID, WORKSPACE_UNKNOWN, WAREHOUSE_LOCKED */
async function runStatus(flags: StatusFlags): Promise<void> {
  const storage = storageOf(flags.config)
  const { checks, models, ...shown } = await withWarehouseRows(storage, async (rows, isHeld) => ({
    ...(await statusesOf(flags, storage, { rows, isHeld })),
    checks: await wrongChecks(rows),
    models: await ifAny(wrongModels({ rows })),
  }))
  const { statuses: workspaces, targets, erasures } = shown
  const size = await warehouseSize(warehouseFile(storage.home))
  const refused = await refusedStatus(storage.home, null, Date.now())
  const landingId = await openStores(storage.home).landing.id()
  const held = heldStatements(storage.home)
  if (flags.json)
    printJson({
      home: storage.home,
      warehouseBytes: size,
      landingId,
      webhooksRefused: refused,
      checks,
      models,
      workspaces,
      targets,
      erasures,
      held: held.map(({ hash: _, ...statement }) => statement),
    })
  else show({ ...shown, refused, checks, models, held, size, landingId }, storage)
}
