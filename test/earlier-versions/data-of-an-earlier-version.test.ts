// Data folders that earlier versions wrote stay readable: lease log, spool lines, page names, window kinds, warehouse.
// `c863418/README.md` says how the stored data folder was made and how its expected tables were reviewed.
//
// STORE_TABLES=1 writes the expected tables again. Do that only after a reviewed change to how old data is loaded.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'
import { DuckDBInstance } from '@duckdb/node-api'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type App, openApp } from '../../src/app.ts'
import { type Clock, systemClock } from '../../src/clock.ts'
import { type Config, readConfig } from '../../src/config.ts'
import { recoverGovernor } from '../../src/core/governor/governor-recovery.ts'
import { momentOf } from '../../src/core/governor/lease-entries.ts'
import { WINDOW_KINDS } from '../../src/core/planning/windows.ts'
import { HOUR } from '../../src/core/time.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import { openLeaseLog } from '../../src/landing/folder-lease-log.ts'
import type { PageHead } from '../../src/landing/page.ts'
import { PLAIN_SYNC, syncOnce } from '../../src/run/embedded.ts'
import { replay } from '../../src/run/replay.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts'
import { openSegments, sealedSegments } from '../../src/spool/segments.ts'
import { warehouseFile } from '../../src/warehouse/open.ts'
import { inProcess } from '../cli/in-process.ts'
import { inFile, type OlderNames, rowsInOrder } from './stored-rows.ts'

const stored = (name: string): string => fileURLToPath(new URL(`c863418/${name}`, import.meta.url))
const WORKSPACE = 'ws_stored'
const TOKEN = 'stored-token-2291'
/** Local time of the last write to the stored data folder; two syncs had been killed within the hour before. */
const WRITTEN_MS = Date.parse('2026-11-09T21:41:00Z')

function unpack(archive: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'convohouse-earlier-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  execFileSync('tar', ['-xzf', stored(archive), '-C', folder])
  return folder
}

function configAt(home: string, url = 'http://127.0.0.1:9'): Config {
  const config = readConfig({
    env: {
      CONVOHOUSE_API_URL: url,
      CONVOHOUSE_API_TOKEN: TOKEN,
      CONVOHOUSE_WORKSPACE: WORKSPACE,
      CONVOHOUSE_HOME: home,
    },
  })
  const noRepeats = { rereadShare: 0, sampleShare: 0, settleMs: 1_000, mirrorLagMs: 0, maxPage: 5 }
  return { ...config, threads: 1, workspaces: [{ ...config.workspaces[0]!, ...noRepeats }] }
}

const sortedKeys = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sortedKeys)
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value).map(([key, inner]) => [key, sortedKeys(inner)] as const)
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Every table that users query, as sorted lines of JSON, without load times and record numbers. */
async function userTables(app: App): Promise<Record<string, string[]>> {
  const { rows } = app.warehouse.writer
  const names = await rows<{ name: string }>(
    `SELECT table_name AS name FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = 'main' AND NOT internal
     AND NOT starts_with(table_name, '_') ORDER BY table_name`,
  )
  const tables: Record<string, string[]> = {}
  for (const { name } of names) {
    const lines = await rows<{ line: string }>(
      `SELECT to_json(r)::VARCHAR AS line FROM (SELECT COLUMNS(c -> c NOT IN ('_loaded_at', '_record')) FROM ${name}) r`,
    )
    tables[name] = lines.map(({ line }) => JSON.stringify(sortedKeys(JSON.parse(line)))).sort()
  }
  return tables
}

/** Older names of columns, by table and new name. */
const NAMES: OlderNames = {
  conversations: { _reported_channel: '_channel_told' },
  organizations: { reported_workspace_id: 'told_workspace_id' },
  _loads: { coerced: 'mended' },
  _quota: { reported_at: 'told_at' },
  _requests: { window_name: 'window' },
  _windows: { window_name: 'window' },
  conversation_turns: { written_at: 'at' },
  conversation_model_messages: { written_at: 'at' },
  messages_received: { message_from: 'from' },
  conversation_campaign_calls: { duration: 'duration_seconds' },
}

/** Columns of lists whose elements are rows of another table since. */
const LISTS = new Map([
  ['conversation_transcripts', ['turns']],
  ['conversation_model_histories', ['messages']],
])

/** Columns whose values a replay sets, and tables about their own file. */
const OWN = { columns: ['_record'], tables: ['_folders', '_migrations'] }

const storedTables = (): Record<string, string[]> =>
  JSON.parse(gunzipSync(readFileSync(stored('tables.json.gz'))).toString()) as Record<string, string[]>

async function withApp<T>(config: Config, use: (app: App) => Promise<T>): Promise<T> {
  const app = await openApp({ config })
  try {
    return await use(app)
  } finally {
    await app.close()
  }
}

async function landedPages(home: string): Promise<{ address: string; head: PageHead }[]> {
  const landing = openLanding(home).workspace(WORKSPACE)
  const files = await landing.list()
  return Promise.all(files.map(async ({ address }) => ({ address, head: await landing.head(address) })))
}

/** Builds the warehouse of the earlier version from the schema and rows that were exported from it. */
async function restoreWarehouse(home: string): Promise<void> {
  const folder = join(unpack('warehouse.tar.gz'), 'warehouse')
  const instance = await DuckDBInstance.create(warehouseFile(home))
  const connection = await instance.connect()
  await connection.run(readFileSync(join(folder, 'schema.sql'), 'utf8'))
  await connection.run(readFileSync(join(folder, 'load.sql'), 'utf8').replaceAll("FROM '", `FROM '${folder}/`))
  connection.closeSync()
  instance.closeSync()
}

/** The sandbox from which the stored pages were exported, one day after the last page was written. */
async function nextDay(): Promise<{ sandbox: Sandbox; clock: Clock }> {
  const sandbox = await startSandbox({
    port: 0,
    token: TOKEN,
    workspaceId: WORKSPACE,
    agents: 2,
    conversations: 14,
    historyDays: 12,
    arrivalsPerDay: 2,
    seed: 7,
    startMs: Date.parse('2026-11-03T08:00:00Z'),
    quotaSessions: 3_000,
    traffic: true,
    speed: 1,
  })
  onTestFinished(() => sandbox.close())
  sandbox.clock.set(Date.parse('2026-11-11T15:00:00Z'))
  const now = () => sandbox.clock.now()
  const sleepUntil: Clock['sleepUntil'] = (untilMs, signal) =>
    systemClock.sleepUntil(systemClock.now() + untilMs - now(), signal)
  return { sandbox, clock: { now, sleepUntil } }
}

const idsIn = async (home: string, pages: readonly { address: string }[]): Promise<string[]> => {
  const landing = openLanding(home).workspace(WORKSPACE)
  const bodies = await Promise.all(pages.map(({ address }) => landing.body(address)))
  return bodies.flatMap(body => (JSON.parse(body.toString()) as { data: { ID: string }[] }).data.map(({ ID }) => ID))
}

const countBy = <T>(items: readonly T[], key: (item: T) => string): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const item of items) counts[key(item)] = (counts[key(item)] ?? 0) + 1
  return counts
}

/** When the stored tables were exported: the archive is named after the day on which a segment is archived. */
const STORED_MS = Date.parse('2026-11-23T12:00:00Z')

/** Counts of pages, windows and lease log entries in the stored data folder. */
const STREAM_PAGES = { agents: 4, conversations: 29, organizations: 31, teams: 19 }
const KIND_PAGES = { full: 4, head: 8, refresh: 3, reread: 4, sample: 2, selected: 1, tail: 7 }
const KIND_WINDOWS = { full: 2, head: 8, refresh: 3, reread: 3, sample: 2, selected: 1, tail: 6 }
const LAST_HOUR_ENTRIES = { lease: 9, request: 3, end: 3 }
const ALL_ENTRIES = { lease: 39, request: 33, end: 33 }
const LEASES = { full: 5, head: 12, probe: 1, refresh: 3, reread: 6, sample: 2, selected: 1, tail: 9 }
const REQUESTS = { null: 30, API_BAD_REQUEST: 1, API_UNAVAILABLE: 2 }
const OPEN_LEASES = 6
const PERIOD = { key: '2026-11-03.0', usedSessions: 100, includedSessions: 3_000, pending: { sessions: 72 } }

/** Syncs twice: the first sync exports new conversations; the second one (`--full`) continues an unfinished full export. */
async function syncFurther(home: string): Promise<void> {
  const { sandbox, clock } = await nextDay()
  const config = configAt(home, sandbox.url)
  const before = await landedPages(home)
  const signal = new AbortController().signal
  const [workspace] = config.workspaces
  const reports = await withApp(config, async app => {
    const sync = (request: typeof PLAIN_SYNC) =>
      syncOnce({ config, workspace: workspace!, app, request, signal, clock })
    return [await sync(PLAIN_SYNC), await sync({ ...PLAIN_SYNC, mode: 'full', consented: true })]
  })
  for (const report of reports) expect(report).toMatchObject({ outcome: 'done', failures: [], windowsLeft: 0 })
  const known = new Set(before.map(({ address }) => address))
  const after = (await landedPages(home)).filter(({ address, head }) => !known.has(address) && head.facts !== null)
  const requestsOf = (pages: readonly { head: PageHead }[]) =>
    pages.map(({ head }) => JSON.stringify([head.place.agentId, head.request.query]))
  const exportedBefore = new Set(requestsOf(before))
  expect(after.length).toBeGreaterThan(2)
  expect(requestsOf(after).filter(request => exportedBefore.has(request))).toEqual([])
  // All new pages are of head windows, which export new conversations, or of the unfinished full export.
  const kindOf = ({ head }: { head: PageHead }) => head.facts!.window.kind
  const continued = after.filter(page => kindOf(page) !== 'head')
  expect(new Set(continued.map(kindOf))).toEqual(new Set(['full']))
  expect(continued.every(({ head }) => head.place.sequence > 1)).toBe(true)
  const heads = before.filter(page => page.head.facts !== null && ['head', 'tail'].includes(kindOf(page)))
  const held = new Set(await idsIn(home, heads))
  const exported = await idsIn(
    home,
    after.filter(page => kindOf(page) === 'head'),
  )
  expect(exported.length).toBeGreaterThan(0)
  expect(exported.filter(id => held.has(id))).toEqual([])
}

describe('data of an earlier version', () => {
  it('holds pages of every stream and window kind, a second generation, and spool segments of every stage', async () => {
    const home = unpack('home.tar.gz')
    const pages = await landedPages(home)
    expect(countBy(pages, ({ head }) => head.place.stream)).toEqual(STREAM_PAGES)
    const kinds = countBy(
      pages.flatMap(({ head }) => head.facts?.window.kind ?? []),
      kind => kind,
    )
    expect(kinds).toEqual(KIND_PAGES)
    expect(Object.keys(kinds).sort()).toEqual([...WINDOW_KINDS].sort())
    expect(pages.some(({ head }) => head.place.generation === 2)).toBe(true)
    expect((await sealedSegments(home, WORKSPACE)).length).toBe(1)
    expect((await openSegments(home, WORKSPACE, Date.now())).length).toBe(2)
  })

  it('is replayed into equal tables and synced further from them: no landed page is exported again', async () => {
    const home = unpack('home.tar.gz')
    const config = configAt(home)
    const report = await replay({ config, now: () => STORED_MS })
    expect(report).toMatchObject({ files: 83, quarantined: 0, events: 19, damaged: [] })
    await withApp(config, async app => {
      const tables = await userTables(app)
      if (process.env.STORE_TABLES === '1')
        writeFileSync(stored('tables.json.gz'), gzipSync(`${JSON.stringify(tables, null, 1)}\n`, { level: 9 }))
      const expected = storedTables()
      expect(Object.keys(tables)).toEqual(expect.arrayContaining(Object.keys(expected)))
      // Tables that were added since are empty, because the earlier version landed no pages for them.
      for (const [name, lines] of Object.entries(tables)) expect(lines, name).toEqual(expected[name] ?? [])
      const kinds = await app.warehouse.writer.rows<{ kind: string; windows: number }>(
        'SELECT kind, count(*)::INTEGER AS windows FROM _windows GROUP BY kind ORDER BY kind',
      )
      expect(Object.fromEntries(kinds.map(({ kind, windows }) => [kind, windows]))).toEqual(KIND_WINDOWS)
    })
    await syncFurther(home)
  })

  it('has a warehouse whose other workspaces a replay keeps, under the new names', async () => {
    const home = unpack('home.tar.gz')
    await restoreWarehouse(home)
    const { code, stderr } = await inProcess(['status'], { env: { CONVOHOUSE_HOME: home } })
    expect(code).toBe(6)
    expect(stderr).toContain('An earlier convohouse wrote the warehouse (layout 6;')
    const file = warehouseFile(home)
    const before = await inFile(file, async query => {
      await query("UPDATE organizations SET told_workspace_id = 'of the vendor'")
      await query("UPDATE messages_received SET channel_sent = 'Web-Chat'")
      const tables = (await query(
        "SELECT table_name AS name FROM duckdb_columns() JOIN duckdb_tables() USING (database_oid, table_oid, table_name) WHERE column_name = 'workspace_id'",
      )) as { name: string }[]
      for (const { name } of tables) await query(`UPDATE ${name} SET workspace_id = 'ws_former'`)
      return rowsInOrder(query, { names: NAMES, of: OWN })
    })
    const report = await replay({ config: configAt(home) })
    expect(report).toMatchObject({ files: 83, olderLayout: 6 })
    const after = await inFile(file, query => rowsInOrder(query, { names: {}, of: OWN }))
    const former = (rows: readonly string[]) =>
      rows.map(row => JSON.parse(row) as Record<string, unknown>).filter(row => row.workspace_id === 'ws_former')
    for (const [table, rows] of Object.entries(before)) {
      if (rows.length === 0 || table === 'conversation_handoff_teams') continue
      // Syncs that were killed have no end in the older warehouse; `replay` ends them.
      const expected = rows.map(row => JSON.parse(row)).filter(row => table !== '_runs' || row.ended_at !== null)
      // `channel_sent` went to `extra`; payloads are only in the spool.
      const names = Object.keys(expected[0]).filter(
        name => !['channel_sent', 'extra', 'payload', ...(LISTS.get(table) ?? [])].includes(name),
      )
      const kept = former(after[table]!).filter(row => row.outcome !== 'killed')
      const part = (row: Record<string, unknown>) =>
        JSON.stringify(Object.fromEntries(names.map(name => [name, row[name]])))
      expect(kept.map(part).sort(), table).toEqual(expected.map(part).sort())
    }
    const sent = former(after.messages_received!).map(({ extra }) => JSON.parse(extra as string).channel)
    expect(new Set(sent)).toEqual(new Set(['Web-Chat']))
    // The elements of the lists are beside their messages.
    for (const [table, list, messages] of [
      ['conversation_transcripts', 'turns', 'conversation_turns'],
      ['conversation_model_histories', 'messages', 'conversation_model_messages'],
    ] as const) {
      const lists = before[table]!.flatMap(row => JSON.parse(JSON.parse(row)[list]) as unknown[])
      const kept = former(after[messages]!).map(({ turn_extra }) => JSON.parse(turn_extra as string))
      expect(kept.map(element => JSON.stringify(element)).sort()).toEqual(
        lists.map(element => JSON.stringify(element)).sort(),
      )
      expect(lists.length).toBeGreaterThan(0)
    }
    const teams = former(before.conversation_handoff_teams!)
    const column = (table: string, name: string) =>
      former(after[table]!)
        .map(row => row[name])
        .sort()
    for (const [table, name] of [
      ['conversation_handoff_team_ids', 'team_id'],
      ['conversation_handoff_team_keys', 'team_key'],
    ] as const)
      expect(column(table, name)).toEqual(teams.map(row => row[name]).sort())
    expect(teams.length).toBeGreaterThan(0)
    expect(new Set(former(after._runs!).map(({ success }) => success))).toEqual(new Set([true, false]))
    const reported = former(after.conversation_observations!).filter(({ source }) => source === 'webhook')
    expect(reported.some(({ reported }) => (reported as string[]).includes('state'))).toBe(true)
  })

  it('has a lease log from which the governor recovers: every entry kind, leases that were never ended, a truncated line', async () => {
    const log = openLeaseLog({ home: unpack('home.tar.gz'), workspaceId: WORKSPACE, run: 'reader' })
    const lastHour = await log.recent(WRITTEN_MS, HOUR)
    expect(countBy(lastHour, ({ kind }) => kind)).toEqual(LAST_HOUR_ENTRIES)
    const all = await log.recent(WRITTEN_MS, 30 * 24 * HOUR)
    await log.close()
    expect(countBy(all, ({ kind }) => kind)).toEqual(ALL_ENTRIES)
    expect(all.map(momentOf)).toEqual(all.map(momentOf).sort((a, b) => a - b))
    const leases = all.filter(entry => entry.kind === 'lease')
    expect(leases.filter(({ window }) => window === 'probe')).toHaveLength(1)
    expect(countBy(leases, ({ window }) => window.split('-')[1] ?? window)).toEqual(LEASES)
    expect(
      countBy(
        all.filter(entry => entry.kind === 'request'),
        ({ error }) => String(error),
      ),
    ).toEqual(REQUESTS)
    const options = { nowMs: WRITTEN_MS, holdersDead: false }
    const held = recoverGovernor({}, lastHour, options)
    expect(held.leases).toHaveLength(OPEN_LEASES)
    const recovered = recoverGovernor({}, lastHour, { ...options, holdersDead: true })
    expect(recovered.leases).toEqual([])
    expect(recovered.quota).toMatchObject(PERIOD)
  })
})
