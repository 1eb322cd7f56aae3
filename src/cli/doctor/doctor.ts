// `convohouse doctor`: checks everything that a sync depends on, in order. It exports nothing and leaves no files behind, but for the extension that a
// target in PostgreSQL needs, if that has to be downloaded.
import type { Command } from 'commander'
import { openStores, type Stores } from '../../app/stores.ts'
import { CATALOG_VERSION } from '../../catalog/records.ts'
import { EXIT_CODES } from '../../core/errors.ts'
import { type Rows, withWarehouseRows } from '../../warehouse/query/rows.ts'
import type { Storage } from '../flags/configuration.ts'
import { addConfigFlag, addWorkspaceFlag } from '../flags/sync-flags.ts'
import { packageFacts } from '../package-facts.ts'
import { print, printJson } from '../terminal/print.ts'
import { styleOf } from '../terminal/style.ts'
import { apiChecks, apiSkipped, exportCheck, tokenCheck } from './access.ts'
import { type Configured, configuration, type DoctorFlags } from './configuration.ts'
import { contentsChecks } from './contents.ts'
import { dataFolderCheck, diskChecks } from './disk.ts'
import { doctorLines, examine, type Finding, ok, skip } from './findings.ts'
import { landingChecks } from './landing.ts'
import { memoryFinding, memoryOf, nodeFinding } from './machine.ts'
import { targetChecks } from './targets.ts'
import { locksCheck, warehouseChecks } from './warehouse.ts'
import { commonWebhooksCheck, webhooksCheck } from './webhooks.ts'

export const define = (command: Command): Command =>
  addWorkspaceFlag(addConfigFlag(command))
    .option('--offline', 'make no request and no connection: check only the configuration and the data folder')
    .option('--json', 'one JSON object, for machines')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse doctor                        configuration, token, API, clock, disk, landing, warehouse, versions
  $ convohouse doctor --offline              no requests
  $ convohouse doctor --json | jq '.checks[] | select(.state != "ok")'

It makes one request per workspace, for the list of agents, which costs nothing, and connects to targets in PostgreSQL and S3
(in S3 it writes, copies and deletes an object).
The exit code is 0 if every check passed, else the code of the first failed check.`,
    )
    .action(async (flags: DoctorFlags) => {
      process.exitCode = await runDoctor(flags)
    })

/** Token, API, clock, export and webhooks of each workspace. `stores` is null if the data folder is unknown. */
async function accessChecks(
  { workspaces, config }: Configured,
  { stores, offline }: { stores: Stores | null; offline: boolean },
): Promise<Finding[]> {
  if (workspaces.length === 0) return [skip({ check: 'token' }, 'not checked: there is no workspace')]
  const findings: Finding[] = []
  for (const workspace of workspaces) {
    findings.push(...(await tokenCheck(workspace)))
    findings.push(...(offline ? apiSkipped(workspace) : await apiChecks(workspace)))
    if (stores) findings.push(...(await exportCheck(stores, workspace)))
    if (config) findings.push(...(await webhooksCheck({ ...config, workspace })))
  }
  if (config) findings.push(...(await commonWebhooksCheck(config)))
  return findings
}

async function landedPages({ landing }: Stores, workspaceIds: readonly string[]): Promise<number> {
  const pages = await Promise.all(
    workspaceIds.map(id =>
      landing
        .workspace(id)
        .list()
        .catch(() => []),
    ),
  )
  return pages.flat().length
}

/** Disk, landing, warehouse and locks. */
async function storageChecks(
  storage: Storage,
  stores: Stores,
  { configured: { workspaces, all, config }, offline }: { configured: Configured; offline: boolean },
): Promise<Finding[]> {
  const { home } = storage
  const workspaceIds = workspaces.map(({ id }) => id)
  const findings = [...(await dataFolderCheck(home, stores)), ...(await diskChecks(home, stores))]
  for (const id of workspaceIds) findings.push(...(await landingChecks(stores, id)))
  const warehouse = await warehouseChecks(storage, await landedPages(stores, workspaceIds))
  findings.push(...warehouse.findings)
  if (warehouse.answers) {
    const held = warehouse.holding?.state === 'held'
    const { landing } = stores
    const check = (rows: Rows) =>
      contentsChecks({
        ...{ rows, landing, workspaces, configured: all, held },
        ...{ checks: config?.checks ?? null, models: config?.models ?? null },
      })
    findings.push(...(await withWarehouseRows(storage, check)))
  }
  if (config && config.targets.length > 0) {
    const check = (rows: Rows | null) => targetChecks({ config, rows, nowMs: Date.now(), offline })
    findings.push(...(warehouse.answers ? await withWarehouseRows(storage, check) : await check(null)))
  }
  return [...findings, ...(await locksCheck(home, warehouse.holding)), memoryFinding(storage, memoryOf())]
}

function versionsCheck(): Promise<Finding[]> {
  const subject = { check: 'versions' }
  return examine(subject, async () => {
    const { duckdbVersion } = await import('../../warehouse/open.ts')
    const found = `convohouse ${packageFacts().version}, DuckDB ${duckdbVersion()}, catalog ${CATALOG_VERSION}, ${process.platform} ${process.arch}`
    return [ok(subject, found)]
  })
}

async function diagnose(flags: DoctorFlags): Promise<Finding[]> {
  const configured = configuration(flags)
  const { storage } = configured
  const stores = storage && openStores(storage.home)
  const offline = flags.offline === true
  return [
    nodeFinding(process.versions.node, packageFacts()),
    ...configured.findings,
    ...(await accessChecks(configured, { stores, offline })),
    ...(storage && stores
      ? await storageChecks(storage, stores, { configured, offline })
      : [skip({ check: 'data folder' }, 'not checked: the configuration, which may name it, cannot be read')]),
    ...(await versionsCheck()),
  ]
}

/** Prints the findings; returns the exit code of the first failed check, else 0. */
export async function runDoctor(flags: DoctorFlags): Promise<number> {
  const checks = await diagnose(flags)
  const exitCode = checks.find(({ state }) => state === 'fail')?.exitCode ?? EXIT_CODES.ok
  if (flags.json)
    printJson({ ok: exitCode === EXIT_CODES.ok, exitCode, checks: checks.map(({ exitCode: _, ...check }) => check) })
  else print(...doctorLines(checks, styleOf(process.stdout)))
  return exitCode
}
