// Upkeep, expiry, and how a replay treats expired data.
import { cp, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { DAY, HOUR } from '../../src/core/time.ts'
import { replay } from '../../src/run/replay.ts'
import { expire } from '../../src/steps/upkeep.ts'
import { warehouseChecks } from '../../src/warehouse/checks/all-checks.ts'
import type { Writer } from '../../src/warehouse/connection.ts'
import { eraseRecords } from '../../src/warehouse/maintenance/erase-records.ts'
import { warehouseFile } from '../../src/warehouse/warehouse-file.ts'
import { temporaryFolder } from '../scene.ts'
import { RESOURCES } from '../tier.ts'
import { everyColumn } from '../workflows/simulated/every-column.ts'
import { openSimulatedApp, type SimulatedApp, WORKSPACE } from '../workflows/simulated/open-simulated-app.ts'
import { openEventSender } from '../workflows/simulated/simulated-events.ts'
import { withWriter } from './synced-home.ts'

const landingOf = ({ app }: SimulatedApp) => app.stores.landing.workspace(WORKSPACE)

const expiring = (simulated: SimulatedApp, days: number) => ({
  landing: landingOf(simulated),
  writer: simulated.app.warehouse.writer,
  home: simulated.config.home,
  workspaceId: WORKSPACE,
  retention: { pagesMs: days * DAY, eventsMs: null },
  now: simulated.clock.now,
})

/** Returns the first rows that differ, by table. */
function differences(before: Record<string, string[]>, after: Record<string, string[]>) {
  return Object.keys(before).flatMap(table => {
    const lost = before[table]!.filter(row => !after[table]!.includes(row)).slice(0, 2)
    const found = after[table]!.filter(row => !before[table]!.includes(row)).slice(0, 2)
    return lost.length + found.length > 0 || before[table]!.length !== after[table]!.length
      ? [{ table, lost, found }]
      : []
  })
}

/** Expects that every check of convohouse passes. */
async function expectSound({ rows }: Pick<Writer, 'rows'>): Promise<void> {
  for (const { name, sql } of await warehouseChecks()) expect(await rows(sql), name).toEqual([])
}

/** Syncs in June and in August, and applies events between them. */
async function fill(simulated: SimulatedApp): Promise<void> {
  const sender = openEventSender(simulated, { dropped: 0 })
  await simulated.sync()
  simulated.advance(62 * DAY)
  await sender.send(simulated.sandbox.clock.now() - DAY, simulated.sandbox.clock.now())
  await simulated.drain()
  await simulated.sync()
}

const SANDBOX = { agents: 2, conversations: 12, historyDays: 3, arrivalsPerDay: 2, traffic: true }

let simulated: SimulatedApp
let end: () => Promise<void>
/** A copy of the filled data folder, in which nothing has expired. */
let filled: Awaited<ReturnType<typeof temporaryFolder>>

beforeAll(async () => {
  const opened = await openSimulatedApp({ sandbox: SANDBOX, settings: { resources: RESOURCES } })
  simulated = opened.simulated
  end = opened.end
  await fill(simulated)
  await simulated.close()
  filled = await temporaryFolder()
  await cp(simulated.config.home, filled.folder, { recursive: true })
  await simulated.restart()
})

afterAll(async () => {
  await end()
  await filled.remove()
})

it('a folder with a page that is not loaded, or of an unfinished window, does not expire', async () => {
  const { writer } = simulated.app.warehouse
  const undone = new Error('undone, because the next test expires the same folders')
  const changed = writer.transaction(async () => {
    const { pages, folders } = await expire(expiring(simulated, 31), { dryRun: true })
    const [{ agent_id: agent }] = (await simulated.rows(
      `SELECT agent_id FROM _windows ORDER BY opened_at LIMIT 1`,
    )) as [{ agent_id: string }]
    await writer.run(
      `UPDATE _windows SET done = false WHERE agent_id = '${agent}' AND opened_at = (SELECT min(opened_at) FROM _windows)`,
    )
    const without = await expire(expiring(simulated, 31), { dryRun: true })
    expect(without.folders).toBe(folders - 1)
    expect(without.pages).toBeLessThan(pages)
    await writer.run(
      `DELETE FROM _loads WHERE file = (SELECT min(file) FROM _loads WHERE file LIKE '%/2026-06/%' AND file NOT LIKE '%${agent}%')`,
    )
    expect((await expire(expiring(simulated, 31), { dryRun: true })).folders).toBe(folders - 2)
    throw undone
  })
  await expect(changed).rejects.toBe(undone)
})

it('expired pages are counted first, their rows survive a replay, which says so, and no other page expires', async () => {
  const { config } = simulated
  const landed = (await landingOf(simulated).list()).map(({ address }) => address)
  const ofJune = landed.filter(address => address.includes('/2026-06/'))
  expect(ofJune.length).toBeGreaterThan(5)
  expect(ofJune.length).toBeLessThan(landed.length)
  // An expired page supplied a mark on rows of later pages.
  const { writer } = simulated.app.warehouse
  await writer.run("UPDATE conversations SET _missing_since = '2026-06-30' WHERE _fetched_at >= '2026-08-01'")
  const before = await everyColumn(simulated.rows)
  const counted = await expire(expiring(simulated, 31), { dryRun: true })
  expect(counted.pages).toBe(ofJune.length)
  expect(await landingOf(simulated).list()).toHaveLength(landed.length)
  expect(await expire(expiring(simulated, 31), { dryRun: false })).toEqual(counted)
  await expectSound(writer)
  expect((await landingOf(simulated).list()).map(({ address }) => address)).toEqual(
    landed.filter(address => !ofJune.includes(address)),
  )
  expect((await expire(expiring(simulated, 31), { dryRun: false })).pages).toBe(0)
  const requests = (await simulated.exported()).length
  await simulated.close()
  await withWriter(config, async ({ run }) => {
    await run("DELETE FROM _requests WHERE file LIKE '%/2026-08/%'")
    await run("UPDATE conversations SET state = 'spoiled' WHERE _fetched_at >= '2026-08-01'")
  })
  expect(await replay({ config })).toMatchObject({
    ...{ expired: ofJune.length, files: landed.length - ofJune.length, movedTo: null },
  })
  await withWriter(config, async writer => {
    expect(differences(before, await everyColumn(writer.rows))).toEqual([])
    await expectSound(writer)
    await writer.run('UPDATE _layout SET number = 9999')
  })
  const bytes = await readFile(warehouseFile(config.home))
  await expect(replay({ config })).rejects.toMatchObject({
    code: 'REPLAY_LOSES_ROWS',
    hint: expect.stringContaining('--drop-expired') as string,
  })
  expect((await readFile(warehouseFile(config.home))).equals(bytes)).toBe(true)
  const { movedTo, expired } = await replay({ config, dropExpired: true })
  expect(expired).toBe(ofJune.length)
  expect((await readFile(movedTo!)).equals(bytes)).toBe(true)
  expect((await simulated.exported()).length).toBe(requests)
  await withWriter(config, async writer => {
    const [one] = await writer.rows<{ agent: string; id: string }>(
      'SELECT agent_id AS agent, conversation_id AS id FROM conversations WHERE _complete ORDER BY ALL LIMIT 1',
    )
    const records = [{ table: 'conversations', key: [one!.agent, one!.id] }]
    await eraseRecords(writer, { workspaceId: WORKSPACE, records, nowMs: simulated.clock.now() })
    await expectSound(writer)
  })
})

it('a sync compacts the landing and removes what has expired once a day', async () => {
  const retention = { pagesMs: 31 * DAY, eventsMs: null }
  const { simulated: later, end } = await openSimulatedApp({
    at: simulated.sandbox,
    home: filled.folder,
    settings: { retention, resources: RESOURCES },
  })
  onTestFinished(end)
  const filesOf = async () =>
    (await readdir(join(filled.folder, 'landing'), { recursive: true })).filter(name => /\.(gz|ndjson)$/.test(name))
  const ofJune = (names: string[]) => names.filter(name => name.includes('2026-06') && !name.includes('/runs/'))
  const bundles = (names: string[]) => names.filter(name => name.includes('/bundles/'))
  expect(ofJune(await filesOf())).not.toEqual([])
  later.advance(DAY)
  await later.sync()
  const files = await filesOf()
  expect(ofJune(files)).toEqual([])
  expect(bundles(files)).not.toEqual([])
  later.advance(HOUR)
  await later.sync()
  expect(bundles(await filesOf())).toEqual(bundles(files))
})
