// A warehouse of an older layout is refused by every command but `replay`, which reads it. `layout-14/README.md` says what the data folder holds.
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { archivedFiles } from '../../src/spool/archive.ts'
import { identified } from '../../src/spool/identity.ts'
import { archivedEvents } from '../../src/spool/read-archive.ts'
import { openWarehouse, warehouseFile } from '../../src/warehouse/open.ts'
import { start } from '../cli/cli-process.ts'
import { inProcess } from '../cli/in-process.ts'
import { isDeep } from '../tier.ts'
import { SMALL } from '../warehouse/temporary-warehouse.ts'
import { inFile, type OlderNames, rowsInOrder, tablesOfFile } from './stored-rows.ts'

const OLDER_WAREHOUSE = new URL('../../dist/src/warehouse/maintenance/older-warehouse.js', import.meta.url).href

const ARCHIVE = fileURLToPath(new URL('layout-14/home.tar.gz', import.meta.url))

/** The data folder, unpacked, and how to run commands on one of its two workspaces. */
function unpack(): { home: string; run: (args: readonly string[]) => ReturnType<typeof inProcess> } {
  const folder = mkdtempSync(join(tmpdir(), 'convohouse-older-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const home = join(folder, 'home')
  mkdirSync(home)
  execFileSync('tar', ['-xzf', ARCHIVE, '-C', home])
  const token = { env: 'CONVOHOUSE_API_TOKEN' }
  const workspaces = [
    { id: 'ws_first', apiUrl: 'http://127.0.0.1:9', token, timeZone: 'Europe/Berlin', mirrorLag: '0s' },
  ]
  writeFileSync(join(folder, 'convohouse.yaml'), JSON.stringify({ home, threads: 1, workspaces }))
  return { home, run: args => inProcess(args, { cwd: folder, env: { CONVOHOUSE_API_TOKEN: 'token' } }) }
}

/** Older names of columns. */
const NAMES: OlderNames = {
  conversation_turns: { written_at: 'at' },
  conversation_model_messages: { written_at: 'at' },
  messages_received: { message_from: 'from' },
  _requests: { window_name: 'window' },
  _windows: { window_name: 'window' },
  // All of these calls have a duration under the second name only.
  conversation_campaign_calls: { duration: 'duration_seconds' },
}

const FRACTION = "conversation_id = (SELECT min(conversation_id) FROM conversations WHERE workspace_id = 'ws_second')"

/** Columns whose values a replay sets, and tables about their own file. */
const SINCE = {
  columns: ['_loaded_at', 'loaded_at', '_record', 'catalog_version'],
  tables: ['_folders', '_migrations'],
}

/** Removes the pages of one agent from the landing, and the archived events of the workspace. */
function removeFiles(home: string): { pages: string[] } {
  const conversations = join(home, 'landing', 'ws_first', 'conversations')
  const [agent] = readdirSync(conversations).sort()
  const pages = readdirSync(join(conversations, agent!), { recursive: true, encoding: 'utf8' })
  rmSync(join(conversations, agent!), { recursive: true })
  rmSync(join(home, 'spool', 'ws_first'), { recursive: true })
  return { pages: pages.filter(name => name.endsWith('.json.gz')) }
}

type Payloads = Record<string, unknown>

const payloadsIn = (rows: readonly string[], workspace: string): Payloads => {
  const events = rows.map(row => JSON.parse(row) as Record<'workspace_id' | 'event_id' | 'payload', string>)
  const own = events.filter(event => event.workspace_id === workspace)
  return Object.fromEntries(own.map(({ event_id, payload }) => [event_id, JSON.parse(payload)]))
}

async function payloadsInSpool(home: string, workspace: string): Promise<Payloads> {
  const payloads: Payloads = {}
  for (const file of await archivedFiles(home, workspace))
    for await (const event of archivedEvents(file, error => expect.fail(String(error)))) {
      const { id, payload } = identified(event)
      expect(payloads[id], 'each event once').toBeUndefined()
      payloads[id] = JSON.parse(Buffer.from(payload).toString())
    }
  return payloads
}

const digest = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex')

/** Leaves a run that was killed, and `statements`, in a write-ahead log beside the file; the file without the log is copied to `.copy`. */
async function leaveLog(file: string, ...statements: string[]): Promise<void> {
  await inFile(file, async query => {
    await query(
      "INSERT INTO _runs (workspace_id, run, started_at, host) VALUES ('ws_first', 'killed', '2026-11-23', 'embedded')",
    )
    for (const statement of statements) await query(statement)
    copyFileSync(`${file}.wal`, `${file}.log`)
    copyFileSync(file, `${file}.copy`)
  })
  copyFileSync(`${file}.copy`, file)
  copyFileSync(`${file}.log`, `${file}.wal`)
}

const KILL = `process.kill(process.pid, 'SIGKILL'); await new Promise(() => {})`

/** Scripts that run before a replay and end it at a call of the file system. */
const KILLS = {
  'when its payloads are in the archive of the spool': `
    import fs from 'node:fs'
    const FileHandle = Object.getPrototypeOf(await fs.promises.open('/dev/null'))
    const { datasync } = FileHandle
    FileHandle.datasync = async function () { await datasync.call(this); ${KILL} }`,
  'before the new file takes its place': `
    import fs from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    const { rename } = fs.promises
    fs.promises.rename = async (from, to) => {
      if (String(from).includes('rebuilt')) { ${KILL} }
      return rename(from, to)
    }
    syncBuiltinESMExports()`,
}

/** `npm test` kills at the later point only: the payloads are in the archive then too. */
const LAST_KILL = 'before the new file takes its place'

type Row = Record<string, unknown>

const without =
  (...names: string[]) =>
  (row: string): string =>
    JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(row) as Row).filter(([name]) => !names.includes(name))))

const only =
  (names: readonly string[]) =>
  (row: string): string =>
    JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(row) as Row).filter(([name]) => names.includes(name))))

const withoutPayload = without('payload', 'payload_file', 'payload_offset', 'resource')

/** Columns that observations of the older layout lack. */
const ADDED = [
  'last_message_ts',
  'token_usage_per_model',
  'detailed_cost_speech_gen_cost',
  'detailed_cost_transcriber_cost',
  'detailed_cost_llm_cost',
  'ext_cost',
]

function withoutAdded(row: string): string {
  const { reported, ...rest } = JSON.parse(row) as Row & { reported: string[] | null }
  return without(...ADDED)(
    JSON.stringify({ ...rest, reported: reported?.filter(name => !ADDED.includes(name)) ?? null }),
  )
}

/** The data folder without the archive of one workspace, whose payloads only the warehouse has. */
function withoutSpool(): ReturnType<typeof unpack> {
  const unpacked = unpack()
  rmSync(join(unpacked.home, 'spool', 'ws_first'), { recursive: true })
  return unpacked
}

/** Replays, and returns what the warehouse and the archive then have. */
async function replayed({ home, run }: ReturnType<typeof unpack>) {
  const { code, stderr } = await run(['replay'])
  expect(code, stderr).toBe(0)
  expect(readdirSync(home).filter(name => name.startsWith('warehouse'))).toEqual(['warehouse.duckdb'])
  const of = { columns: SINCE.columns, tables: [...SINCE.tables, '_change_log', '_consumers', '_marts', '_people'] }
  const rows = await inFile(warehouseFile(home), query => rowsInOrder(query, { names: {}, of }))
  return { rows, payloads: await payloadsInSpool(home, 'ws_first') }
}

/** Of a replay that waited for another process: what one leaves that was not killed. */
let waited: Awaited<ReturnType<typeof replayed>> | undefined

describe('a warehouse of layout 14', () => {
  it('is refused by every command but replay, and stays unchanged', async () => {
    const { home, run } = unpack()
    const before = digest(warehouseFile(home))
    const parquet = join(home, 'rows.parquet')
    const commands = [
      ['sync'],
      ['plan'],
      ['status'],
      ['status', '--json'],
      ['ledger'],
      ['ledger', '--format', 'csv'],
      ['query', 'SELECT count(*) FROM conversations'],
      ['query', 'SELECT count(*) FROM conversations', '--output', parquet],
      ['quarantine', 'list'],
      ['quarantine', 'retry'],
      ['replay', '--table', '_drift'],
    ]
    for (const args of commands) {
      const { code, stdout, stderr } = await run(args)
      expect([args, code]).toEqual([args, 6])
      expect(stdout + stderr, args.join(' ')).toContain('An earlier convohouse wrote the warehouse (layout 14;')
      expect(stdout + stderr, args.join(' ')).toContain('Run `convohouse replay`')
    }
    const { stdout } = await run(['doctor', '--json'])
    expect(stdout).toContain('"code":"WAREHOUSE_OLDER"')
    expect(digest(warehouseFile(home))).toBe(before)
    expect(readdirSync(home).filter(name => name.startsWith('warehouse'))).toEqual(['warehouse.duckdb'])
  })

  it('is replayed by one process at a time', async () => {
    const there = withoutSpool()
    const { home, run } = there
    const file = warehouseFile(home)
    const before = digest(file)
    const script = `import { openReplaced } from ${JSON.stringify(OLDER_WAREHOUSE)}
      const { close } = await openReplaced({ home: ${JSON.stringify(home)}, memoryLimit: '256MB', threads: 1 })
      process.stdin.resume().once('end', async () => { await close(); process.exit() })
      console.log('held')`
    const holder = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    onTestFinished(() => void holder.kill('SIGKILL'))
    await once(holder.stdout, 'data')
    const refused = await run(['replay'])
    expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining(`PID ${holder.pid}`)])
    expect(digest(file)).toBe(before)
    holder.stdin.end()
    await once(holder, 'exit')
    waited = await replayed(there)
  })

  it('stays unchanged beside the write-ahead log of a killed process', async () => {
    const { home, run } = unpack()
    const file = warehouseFile(home)
    await leaveLog(file)
    const digests = () => [file, `${file}.wal`].map(digest)
    const before = digests()
    for (const args of [['sync'], ['plan'], ['status']]) {
      expect([args, (await run(args)).code]).toEqual([args, 6])
      expect(digests(), args.join(' ')).toEqual(before)
    }
  })

  it('is replaced by the next replay if one is killed, as if none had been, with each payload once', async () => {
    const expected = waited ?? (await replayed(withoutSpool()))
    expect(Object.keys(expected.payloads)).toHaveLength(38)
    const killed = withoutSpool()
    const { home } = killed
    const before = digest(warehouseFile(home))
    for (const [when, script] of Object.entries(KILLS).filter(([when]) => isDeep || when === LAST_KILL)) {
      const node = ['--import', `data:text/javascript,${encodeURIComponent(script)}`]
      const env = { CONVOHOUSE_API_TOKEN: 'token' }
      expect((await start(['replay'], { cwd: dirname(home), env, node }).ended).code, when).toBe(null)
      expect(digest(warehouseFile(home)), when).toBe(before)
      expect(await payloadsInSpool(home, 'ws_first'), when).toEqual(expected.payloads)
    }
    expect(readdirSync(home)).toContain('warehouse.rebuilt.duckdb')
    expect(await replayed(killed)).toEqual(expected)
  })

  it('is replaced by a replay, which keeps runs, other workspaces, quarantine, and rows whose files are gone', async () => {
    const { home, run } = unpack()
    const file = warehouseFile(home)
    await leaveLog(
      file,
      `UPDATE conversations SET messages_num = 2.5, extra = '{"messagesNum":"many","kept":null}' WHERE ${FRACTION}`,
    )
    const before = await inFile(`${file}.copy`, query => rowsInOrder(query, { names: NAMES, of: SINCE }))
    const gone = removeFiles(home)
    expect(gone.pages.length).toBeGreaterThan(1)

    const refused = await run(['replay'])
    expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining('are missing from the landing')])
    const { code, stdout, stderr } = await run(['replay', '--allow-incomplete'])
    expect(code, stderr).toBe(0)
    expect(stdout).toContain('The replaced warehouse had the older layout 14')

    const fresh = mkdtempSync(join(tmpdir(), 'convohouse-fresh-'))
    onTestFinished(() => rmSync(fresh, { recursive: true, force: true }))
    await (await openWarehouse({ home: fresh, ...SMALL })).close()
    const declared = await inFile(warehouseFile(fresh), tablesOfFile)
    expect(await inFile(file, tablesOfFile)).toEqual(declared)
    const after = await inFile(file, query => rowsInOrder(query, { names: {}, of: SINCE }))
    const runs = after._runs!.map(row => JSON.parse(row) as Record<string, unknown>)
    expect(runs.find(({ run }) => run === 'killed')).toMatchObject({ outcome: 'killed', success: false })
    after._runs = after._runs!.filter(row => !row.includes('"killed"'))
    // The count of a workspace without configuration had a fraction.
    const [fraction] = after.conversations!.filter(row => row.includes('messagesNum\\":2.5'))
    const { conversation_id, messages_num, extra } = JSON.parse(fraction!) as Record<string, string>
    expect([messages_num, JSON.parse(extra!)]).toEqual([null, { messagesNum: 2.5, kept: null }])
    const others = (rows: string[]) => rows.filter(row => JSON.parse(row).conversation_id !== conversation_id)
    for (const tables of [before, after]) tables.conversations = others(tables.conversations!)
    // Payloads that only the older warehouse held are in the spool now.
    expect(stdout).toContain("38 webhook events that only the warehouse held were added to the spool's archive")
    for (const workspace of ['ws_first', 'ws_second'])
      expect(await payloadsInSpool(home, workspace)).toEqual(payloadsIn(before.webhook_events!, workspace))
    for (const rows of [before, after]) rows.webhook_events = rows.webhook_events!.map(withoutPayload)
    for (const rows of [before, after])
      rows.conversation_observations = rows.conversation_observations!.map(withoutAdded)
    // The turns of a conversation, once a list in its row, are beside the messages that no file supplies.
    for (const [table, list, messages] of [
      ['conversation_transcripts', 'turns', 'conversation_turns'],
      ['conversation_model_histories', 'messages', 'conversation_model_messages'],
    ] as const) {
      const of = (rows: string[]) => rows.map(row => JSON.parse(row)).filter(row => row.workspace_id === 'ws_second')
      const lists = of(before[table]!).flatMap(row => JSON.parse(row[list]) as unknown[])
      const kept = of(after[messages]!).map(({ turn_extra }) => JSON.parse(turn_extra) as unknown)
      expect(kept.map(element => JSON.stringify(element)).sort()).toEqual(
        lists.map(element => JSON.stringify(element)).sort(),
      )
      // The second workspace has no model messages; those of `c863418` are tested too.
      expect(lists.length).toBe(table === 'conversation_transcripts' ? 13 : 0)
      before[table] = before[table]!.map(without(list))
      after[messages] = after[messages]!.map(without('extra', 'turn_extra'))
    }
    // Details of agents have columns and tables since.
    const sameColumns = Object.keys(JSON.parse(before.agents![0]!) as object).filter(name => name !== 'extra')
    for (const tables of [before, after]) tables.agents = tables.agents!.map(only(sameColumns))
    expect(after.agent_nodes!.length).toBeGreaterThan(0)
    const differing = Object.entries(before).filter(
      ([table, rows]) => JSON.stringify(after[table]) !== JSON.stringify(rows),
    )
    expect(Object.fromEntries(differing)).toEqual({})
    const kept = (table: string, workspace: string) =>
      after[table]!.filter(row => row.includes(`"${workspace}"`)).length
    expect(kept('webhook_events', 'ws_first')).toBe(38)
    expect(kept('_quarantine', 'ws_first')).toBe(5)
    expect(kept('conversations', 'ws_second')).toBe(5)
    expect((await run(['status'])).code).toBe(0)
  })
})
