// Checks the machine and the data folder: Node, memory, disk, landing, and the contents of the warehouse.
import { stat, statfs } from 'node:fs/promises'
import { tmpdir, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { quoteText } from '../../catalog/layout.ts'
import { STREAMS } from '../../catalog/resources/resources.ts'
import type { Config } from '../../config.ts'
import { ConvohouseError, isCode } from '../../core/errors.ts'
import type { ServiceLevel } from '../../core/response-rules.ts'
import { ago, agreeing, bytes, count, counted, sizeOf } from '../../core/words.ts'
import { isThere, probeFolder } from '../../files/durable.ts'
import { warehouseSize } from '../../files/stored-bytes.ts'
import { openTargetDatabase } from '../../publish/target-database.ts'
import { overdueOf, syncTimes } from '../../reports/freshness.ts'
import { readGaps } from '../../reports/gaps.ts'
import { countQuarantined } from '../../reports/quarantine.ts'
import { runsStatus } from '../../reports/runs.ts'
import { landingStatus, workspacesIn } from '../../reports/status.ts'
import { allChecks } from '../../warehouse/checks/all-checks.ts'
import { runCheck } from '../../warehouse/checks/results.ts'
import { expectTimeZones } from '../../warehouse/load/time-zone.ts'
import { expectLayout } from '../../warehouse/maintenance/create-tables.ts'
import { wrongModels } from '../../warehouse/models/stored-models.ts'
import { openReader } from '../../warehouse/query/reader.ts'
import type { Rows } from '../../warehouse/query/rows.ts'
import { warehouseFile } from '../../warehouse/warehouse-file.ts'
import { packageFacts } from '../package-facts.ts'
import { modelText } from '../status/status-text.ts'
import { gapText } from '../terminal/notes.ts'
import { type Check, eachWorkspace, fail, type Outcome, ok, overdue, skip, warn } from './check.ts'

export const nodeVersion = (node = process.versions.node, { version, oldestNode } = packageFacts()): Outcome => {
  const found = `Node ${node} (needs ${oldestNode} or later), convohouse ${version}, ${process.platform} ${process.arch}`
  if (node.localeCompare(oldestNode, 'en', { numeric: true }) >= 0) return ok(found)
  const what = `This is Node ${node}; convohouse ${version} needs ${oldestNode} or later.`
  const hint = 'Install a newer Node (https://nodejs.org), then run the same command again.'
  return fail(new ConvohouseError('NODE_TOO_OLD', { what, hint }))
}

/** Memory that the process needs beyond DuckDB's limit: pages in flight, and allocations that DuckDB does not count. */
const BESIDE_BYTES = 400_000_000

/** Returns the memory of the container (cgroup), else that of the machine. An unlimited cgroup reports an absurdly large number. */
export const memoryHere = (): number => Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem())

export function memory(limits: Pick<Config, 'memoryLimit' | 'replayMemoryLimit'>, has = memoryHere()): Outcome {
  const tooLarge = (['memoryLimit', 'replayMemoryLimit'] as const).find(
    name => sizeOf(limits[name]) + BESIDE_BYTES > has,
  )
  const found = (limit: string) => `DuckDB may use ${limit} of ${bytes(has)}`
  if (tooLarge === undefined) return ok(found(limits.memoryLimit))
  const fitting = Math.max(256, Math.floor(((has - BESIDE_BYTES) * 0.8) / 1e8) * 100)
  return warn(
    found(limits[tooLarge]),
    `Set \`${tooLarge}: ${fitting}MB\` in the configuration: a process that exceeds the available memory is killed.`,
  )
}

/** Returns the folder if it exists, else the nearest parent folder that exists, in which it would be created. */
async function nearest(folder: string): Promise<string> {
  return (await isThere(folder)) || dirname(folder) === folder ? folder : nearest(dirname(folder))
}

/** Tests the folder, or its nearest parent if it does not exist. @throws HOME_UNUSABLE */
export async function expectWritable(folder: string): Promise<string> {
  const there = await nearest(folder)
  await probeFolder(there)
  return there
}

export const dataFolder: Check = async ({ config: { home }, stores: { landing } }) => {
  const there = await expectWritable(home)
  if (there !== home) return ok(`${home} does not exist yet; it can be created in ${there}`)
  // Tested separately, since the landing may lie on another disk.
  await landing.probe()
  const id = await landing.id()
  const found = `${home} is writable, and writes are durable${id === null ? '' : `; it has the landing ${id}`}`
  if (process.platform === 'win32' || ((await stat(home)).mode & 0o077) === 0) return ok(found)
  return warn(`${found}; other users can read it`, `Restrict it to its owner: chmod 700 ${home}`)
}

/** With less free space the check fails, since pages may not land. */
const TOO_LITTLE_BYTES = 64_000_000
/** With less free space the check warns, since DuckDB spills to disk and the landing grows. */
const LITTLE_BYTES = 1_000_000_000

/** Types (`statfs`, linux/magic.h) of file systems whose locks and fsync depend on a server, or that a restart empties. */
const UNFIT: Readonly<Record<number, 'network' | 'memory'>> = {
  // NFS, CIFS, SMB (two), 9P, Ceph, AFS, Lustre, GPFS, FUSE
  ...Object.fromEntries(
    [0x6969, 0xff534d42, 0x517b, 0xfe534d42, 0x1021997, 0xc36400, 0x5346414f, 0xbd00bd0, 0x47504653, 0x65735546].map(
      type => [type, 'network'],
    ),
  ),
  // tmpfs, ramfs
  ...{ 16914836: 'memory', 2240043254: 'memory' },
}

export const space: Check = async ({ config: { home }, stores }) => {
  const { type, bavail, bsize } = await statfs(await nearest(home))
  const [warehouseBytes, landingBytes] = [await warehouseSize(warehouseFile(home)), await stores.landing.storedBytes()]
  return spaceOutcomes({ type, freeBytes: bavail * bsize, warehouseBytes, landingBytes })
}

interface Disk {
  /** Type of the file system; some systems return it signed. */
  type: number
  freeBytes: number
  warehouseBytes: number
  landingBytes: number
}

const UNFIT_WARNINGS = {
  network: warn(
    'the data folder may be on a network file system',
    'Move it to a local disk: network file systems may not guarantee locks and fsync.',
  ),
  memory: warn('the data folder is kept in memory', 'Move it to a disk: a restart of the machine deletes everything.'),
}

export function spaceOutcomes({ type, freeBytes, warehouseBytes, landingBytes }: Disk): Outcome[] {
  const found = `${bytes(freeBytes)} free; the warehouse takes ${bytes(warehouseBytes)}, the landing ${bytes(landingBytes)}`
  const unfit = process.platform === 'linux' ? UNFIT[type >>> 0] : undefined
  const outcomes = unfit === undefined ? [] : [UNFIT_WARNINGS[unfit]]
  if (freeBytes < TOO_LITTLE_BYTES) {
    const hint = 'Free some space. Landed pages are kept, and the next sync continues.'
    return [...outcomes, fail(new ConvohouseError('HOME_UNUSABLE', { what: `Too little disk space: ${found}.`, hint }))]
  }
  const isEnough = freeBytes >= Math.max(warehouseBytes, LITTLE_BYTES)
  const replay = 'a replay, which builds a second warehouse beside the first'
  const hint = `Free more space before ${freeBytes < warehouseBytes ? replay : 'the next long sync'}.`
  return [...outcomes, isEnough ? ok(found) : warn(found, hint)]
}

/** Number of newest pages read per stream: a crash or a full disk damages the files that were written last. */
const SAMPLE_PAGES = 20

export const landing = eachWorkspace(async ({ id }, { stores }) => {
  const pages = stores.landing.workspace(id)
  const streams = await Promise.all(STREAMS.map(stream => pages.list(stream)))
  const newest = streams.flatMap(listed => listed.slice(-SAMPLE_PAGES))
  for (const { address } of newest) await pages.body(address)
  const all = streams.flat().length
  if (all === 0) return ok('no page has landed yet')
  if (newest.length === all) return ok(`${counted(all, 'page')}, ${all === 1 ? '' : 'all '}readable`)
  return ok(`${counted(all, 'page')}; the newest ${count(newest.length)} are readable`)
})

export const warehouse: Check = async setup => {
  const { config, stores, rows } = setup
  const file = warehouseFile(config.home)
  try {
    await rows('SELECT 1')
  } catch (error) {
    // The error of opening the file names the process that holds it.
    if (isCode(error, 'WAREHOUSE_LOCKED')) (await openReader({ ...config, file })).close()
    if (!isCode(error, 'WAREHOUSE_MISSING')) throw error
    const landed = await Promise.all(config.workspaces.map(({ id }) => stores.landing.workspace(id).list()))
    if (landed.flat().length === 0) return ok(`${file} does not exist yet; the first sync creates it`)
    const hint = 'Run `convohouse replay`, which rebuilds it from the landing without a request.'
    return warn(`${file} is missing, although pages have landed`, hint)
  }
  await expectLayout(rows, file)
  setup.answers = true
  const how = setup.isHeld() ? 'is held by another process, which answers queries' : 'opens'
  return ok(`${file}, ${bytes(await warehouseSize(file))}: ${how}`)
}

/** Asks a DuckDB without a file, since there may be no warehouse yet. */
export const timeZones: Check = async ({ config, workspaces }) => {
  const spillFolder = join(tmpdir(), 'convohouse-doctor')
  const database = await openTargetDatabase({ ...config, spillFolder })
  await expectTimeZones(database, workspaces).finally(database.close)
  return []
}

/** Runs the checks of the tables. */
export const rules: Check = async ({ rows, config }) => {
  const found: Outcome[] = []
  const checks = await allChecks(config.checks)
  for (const check of checks) {
    const { name, severity, isOwn } = check
    const { outcome, violations, error } = await runCheck(rows, check)
    if (outcome === 'passed') continue
    const what = `${counted(violations ?? 0, 'row violates', 'rows violate')} the rule ${name}.`
    const hint = isOwn
      ? `\`convohouse check ${name}\` shows which.`
      : 'Run `convohouse replay`, which rebuilds the tables from the landing, and please report it with the name of the rule.'
    if (outcome === 'timeout') found.push(skip(`${name} takes too long`))
    else if (outcome === 'broken') found.push(warn(`your check ${name} cannot run: ${error}`, 'Correct its file.'))
    else if (severity === 'warn') found.push(warn(what, hint))
    else found.push(fail(new ConvohouseError('WAREHOUSE_UNSOUND', { what, hint })))
  }
  return found.length > 0 ? found : ok(`all ${count(checks.length)} hold`)
}

export const models: Check = async ({ rows, config: { models: folder } }) => {
  if (folder === null) return []
  const wrong = await wrongModels({ rows })
  return wrong.map(model => {
    const { name, error, hint } = model
    return warn(`${join(folder, `${name}.sql`)} ${modelText(model)}: ${error}`, hint ?? 'Correct the file.')
  })
}

export const quarantine: Check = async ({ rows }) => {
  const records = await countQuarantined(rows)
  if (records === 0) return ok('every landed record was loaded')
  const hint = '`convohouse quarantine list` shows which and why. They stay in the landing.'
  return warn(`${counted(records, 'record')} could not be loaded`, hint)
}

export const loads = eachWorkspace(async ({ id }, { stores, rows, isHeld }) => {
  const { pages, notLoaded } = await landingStatus(stores.landing.workspace(id), id, rows)
  if (notLoaded === 0) return ok(`${counted(pages, 'landed page is', 'landed pages are')} in the tables`)
  const found = `${count(notLoaded)} of ${counted(pages, 'landed page')} ${agreeing(notLoaded, 'is', 'are')} not in the tables yet`
  if (isHeld()) return ok(`${found}: the process that holds the warehouse is loading them`)
  const hint = 'The next sync loads them and reports those that it cannot load; `convohouse replay` reloads all.'
  return warn(found, hint)
})

export const freshness = eachWorkspace(async (workspace, { config: { home }, rows, isHeld, nowMs, maxAgeMs }) => {
  const here = `workspace_id = ${quoteText(workspace.id)}`
  const [times, runs] = [await syncTimes(rows), await runsStatus(rows, here, isHeld)]
  const found = await overdueOf(workspace, { times, runs, home, nowMs, maxAgeMs })
  if (found.length > 0) return found.map(overdue)
  const succeeded = runs.lastSuccess?.endedAt
  return succeeded ? ok(`synced ${ago(Date.parse(succeeded), nowMs)}`) : skip('no sync has succeeded yet')
})

export const gaps = eachWorkspace(async ({ id }, { rows, nowMs }) =>
  (await readGaps({ rows }, id, nowMs)).map(gap =>
    warn(gapText(gap), 'Syncs request it again after that time. Show the error to the vendor.'),
  ),
)

/** Warns of agents in service levels that are probably mistyped: the rules apply to none of their conversations. */
export const serviceLevels = eachWorkspace(async ({ id, responseRules }, { rows }) => {
  const unknown = await unknownAgents(rows, id, responseRules.serviceLevels)
  if (unknown.length === 0) return []
  const hint =
    'Correct `agents` in `sla` of the workspace. An id is also right, if the agent is new and no sync has listed it.'
  return warn(`no agent of the workspace is ${unknown.map(one => JSON.stringify(one)).join(', ')}`, hint)
})

/** Returns ids in `agents` of service levels that match no agent of the workspace, present or gone. None while no agent is known. */
async function unknownAgents(
  rows: Rows,
  workspaceId: string,
  levels: readonly Pick<ServiceLevel, 'agents'>[],
): Promise<string[]> {
  const named = [...new Set(levels.flatMap(({ agents }) => agents ?? []))]
  if (named.length === 0) return []
  const here = `WHERE workspace_id = ${quoteText(workspaceId)}`
  const found = await rows<{ id: string }>(
    `SELECT agent_id AS id FROM agents ${here} UNION SELECT agent_id FROM conversations ${here}`,
  )
  const known = new Set(found.map(({ id }) => id))
  return known.size === 0 ? [] : named.filter(id => !known.has(id))
}

/** Warns of workspaces that are in the warehouse but no longer configured, and therefore no longer synced. */
export const unconfigured: Check = async ({ rows, config }) => {
  const configured = config.workspaces.map(({ id }) => id)
  const others = (await workspacesIn(rows)).filter(id => !configured.includes(id))
  if (others.length === 0) return []
  const hint = 'To sync them again, configure them. Their stored data is kept, even after a replay.'
  return warn(`in the warehouse but not configured: ${others.join(', ')}`, hint)
}
