// `convohouse forget` and `convohouse erasures` as users run them.
import { cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { openLanding } from '../../src/landing/folder-landing.ts'
import { folderOfFile } from '../of-file.ts'
import { bytesContain, rowsIn } from '../publish/published.ts'
import { receiveEvents } from '../spool/arbitrary-events.ts'
import { isDeep } from '../tier.ts'
import { AGENT, landConversations, SENT_AT_MS } from '../warehouse/landed-pages.ts'
import { cli, jsonLines, TOKEN, temporaryFolder } from './cli-process.ts'
import { inProcess } from './in-process.ts'
import { CTRL_C, onTerminal } from './on-terminal.ts'

const env = { CONVOHOUSE_API_TOKEN: TOKEN }
const JANE = 'jane@example.org'

const workspaceOf = (id: string) => ({ id, apiUrl: 'http://127.0.0.1:9', token: { env: 'CONVOHOUSE_API_TOKEN' } })

/** A data folder with conversations and an event of Jane and of others, which tests copy. Its pages land as those of `ws`. */
const filled = await folderOfFile()

beforeAll(async () => {
  await landConversations(openLanding(filled).workspace('ws'), {
    records: [
      { ID: 'c1', userEmail: 'Jane@Example.org', userID: 'jane-17', userName: 'Jane Doe' },
      { ID: 'c2', userID: 'jane-17', userPhone: '0170 1234567' },
      { ID: 'c3', userEmail: 'john@example.org', userName: `asks for ${JANE}` },
      { ID: 'c4', userName: 'nobody' },
    ],
  })
  const event = { event: 'message_received', agentId: AGENT, createdAt: SENT_AT_MS }
  await receiveEvents({ home: filled, workspaceId: 'ws', nowMs: SENT_AT_MS }, [
    { ...event, convoId: 'c2', messageContent: 'this is jane' },
    { ...event, convoId: 'c3', messageContent: 'this is john' },
  ])
  const home = { CONVOHOUSE_API_URL: 'http://127.0.0.1:9', CONVOHOUSE_WORKSPACE: 'ws', CONVOHOUSE_HOME: filled }
  const { code, stderr } = await inProcess(['replay'], { env: { ...env, ...home } })
  expect(code, stderr).toBe(0)
})

async function loaded() {
  const folder = await temporaryFolder()
  const [home, config] = [join(folder, 'data'), join(folder, 'convohouse.yaml')]
  await cp(filled, home, { recursive: true })
  const configure = (more: object = {}) =>
    writeFile(config, JSON.stringify({ home, threads: 1, workspaces: [workspaceOf('ws')], ...more }))
  await configure()
  const run = (...args: string[]) => inProcess([...args, '--config', config], { env })
  const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout)
  const query = async (sql: string) => JSON.parse((await run('query', sql, '--format', 'json')).stdout)
  return {
    ...{ folder, home, file: config, configure, run, json },
    // Target processes belong to the built command.
    spawned: (...args: string[]) => cli([...args, '--config', config], { env }),
    conversations: async () =>
      ((await query('SELECT conversation_id AS id FROM conversations ORDER BY ALL')) as { id: string }[]).map(
        ({ id }) => id,
      ),
    journal: () => readFile(join(home, 'landing', '.forgotten.ndjson'), 'utf8').catch(() => ''),
  }
}

it('forget lists what it would erase, and with --dry-run erases nothing', async () => {
  const { run, json, conversations, journal } = await loaded()
  const { code, stdout } = await run('forget', '--email', JANE, '--dry-run')
  expect(code).toBe(0)
  expect(stdout).toContain('2 conversations:')
  expect(stdout).toContain(`  email ${JANE}\n`)
  for (const line of [
    `ws  ${AGENT}/c1`,
    'conversations  2 rows',
    'records in landed pages  2',
    'files of received events  2',
  ])
    expect(stdout).toContain(line)
  expect(stdout).toContain("Mentions in other people's records, which stay:\n  conversations  1 row")
  const plan = await json('forget', '--email', JANE, '--dry-run')
  expect(plan.conversations.map(({ id }: { id: string }) => id)).toEqual(['c1', 'c2'])
  expect(plan.files).toMatchObject({ 'records in landed pages': 2, 'landed pages': 1 })
  expect(plan.stored).toContainEqual({ table: 'messages_received', rows: 1, mentions: 0 })
  expect([await conversations(), await journal()]).toEqual([['c1', 'c2', 'c3', 'c4'], ''])
  expect((await run('erasures')).stdout).toContain('Nobody was forgotten')
  expect(await json('erasures')).toEqual({ erasures: [] })
})

it('forget --yes erases, prints a receipt without a personal value, and keeps the person away until --lift ends the erasure', async () => {
  const { home, run, json, conversations, journal } = await loaded()
  const { code, stdout, stderr } = await run('forget', '--email', JANE, '--yes')
  expect(code, stderr).toBe(0)
  const [, id] = /Erased \((\w+)\):/.exec(stdout)!
  expect(stderr).toContain(`Erasure ${id} is recorded`)
  expect(stdout.slice(stdout.indexOf('Erased ('))).toMatch(/records in landed pages {2}2\n/)
  expect(await conversations()).toEqual(['c3', 'c4'])
  const [receipt] = (await json('erasures')).erasures
  expect(receipt).toMatchObject({ id, liftedMs: null, conversations: 2, open: [] })
  expect(receipt.places).toMatchObject({ conversations: 2, messages_received: 1, 'landed pages': 1 })
  expect(receipt.erasedMs).toBeGreaterThan(receipt.requestedMs)
  const listed = (await run('erasures')).stdout
  expect(listed).toMatch(
    new RegExp(`^${id} {2}requested .* 2 conversations, 2 identifiers {2}complete\\n {2}erased .*conversations 2`),
  )
  for (const text of [JSON.stringify(receipt), listed, await journal()])
    expect(text).not.toMatch(/jane|example|\bc1\b/i)
  expect((await run('status')).stdout).not.toContain('Erasures')
  // Only the mention in another person's record is left.
  expect(await bytesContain(join(home, 'warehouse.duckdb'), 'Jane Doe')).toBe(false)
  expect(await bytesContain(join(home, 'warehouse.duckdb'), 'this is john')).toBe(true)

  const returned = (ID: string) =>
    landConversations(openLanding(home).workspace('ws'), { records: [{ ID, userEmail: JANE }] })
  await returned('c5')
  expect((await run('replay')).code).toBe(0)
  expect(await conversations()).toEqual(['c3', 'c4'])
  expect((await run('forget', '--lift', 'none')).stderr).toContain('There is no standing erasure "none"')
  expect((await run('forget', '--lift', id!)).stdout).toContain('kept again')
  expect(await run('forget', '--lift', id!)).toMatchObject({ code: 2 })
  await returned('c6')
  expect((await run('replay')).code).toBe(0)
  expect(await conversations()).toEqual(['c3', 'c4', 'c6'])
  expect((await json('erasures')).erasures).toMatchObject([{ id, liftedMs: expect.any(Number), open: [] }])
  expect((await run('erasures')).stdout).toContain('lifted')
})

it.runIf(isDeep)('forget of somebody who is not there any more is a new erasure', async () => {
  const { run } = await loaded()
  const forget = () => run('forget', '--email', JANE, '--yes', '--json')
  expect(JSON.parse((await forget()).stdout)).toMatchObject({ places: { conversations: 2 } })
  expect(JSON.parse((await forget()).stdout)).toMatchObject({ places: {}, open: [] })
})

it('forget takes requests from a CSV file, and names the line that it cannot use', async () => {
  const { folder, run, json, conversations } = await loaded()
  const file = join(folder, 'requests.csv')
  const refusals: [content: string, text: string][] = [
    ['', 'line 1 is missing'],
    ['email,fax\na@example.org,1\n', 'line 1 has the column "fax"'],
    ['# ours\nemail,phone\n,\n', 'line 3 names nobody'],
    ['email\njane@example.org,x\n', 'line 2 has 2 cells for 1 columns'],
    ['email\n"jane@example.org\n', 'line 2 has quotes'],
    ['email;phone\njane@example.org;1\n', 'line 1 '],
  ]
  for (const [content, text] of refusals) {
    await writeFile(file, content)
    const { code, stderr } = await run('forget', '--file', file, '--yes')
    expect([code, stderr], content).toEqual([2, expect.stringContaining(text)])
  }
  expect((await run('forget', '--file', join(folder, 'none.csv'))).stderr).toContain('none.csv cannot be read (ENOENT)')
  expect((await run('forget')).stderr).toContain('Nobody is named')
  // One line that identifies nobody refuses the whole file.
  await writeFile(file, 'Email,Phone\njane@example.org,\n,110\n')
  expect(await run('forget', '--file', file, '--yes')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('FORGET_REFUSED'),
  })
  expect(await conversations()).toHaveLength(4)
  await writeFile(file, `\uFEFFEmail,Phone,Conversation\r\n,0170 1234567,\r\n,,"${AGENT}/c4"\r\n`)
  const plan = await json('forget', '--file', file, '--country', 'de', '--dry-run')
  expect(plan.conversations.map(({ id }: { id: string }) => id).sort()).toEqual(['c1', 'c2', 'c4'])
  if (isDeep) {
    expect((await run('forget', '--file', file, '--country', 'DE', '--yes')).code).toBe(0)
    expect(await conversations()).toEqual(['c3'])
  }
  expect((await run('forget', '--phone', '1', '--country', 'Germany')).stderr).toContain(
    '--country cannot be "Germany"',
  )
})

it('forget --export writes first what is stored about the person, which only its owner can read', async () => {
  const { folder, home, run } = await loaded()
  const file = join(folder, 'jane.ndjson')
  const { code, stderr } = await run('forget', '--email', JANE, '--export', file, '--dry-run')
  expect([code, stderr]).toEqual([0, expect.stringMatching(/\d+ rows about the person written to/)])
  const rows = jsonLines(await readFile(file, 'utf8')) as { table: string; row: Record<string, unknown> }[]
  const ids = rows.filter(({ table }) => table === 'conversations').map(({ row }) => row.conversation_id)
  expect(ids.sort()).toEqual(['c1', 'c2'])
  expect(rows.filter(({ table }) => table === 'messages_received').map(({ row }) => row.message_content)).toEqual([
    'this is jane',
  ])
  expect(JSON.stringify(rows)).not.toContain('john')
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  await mkdir(join(folder, 'taken'))
  expect((await run('forget', '--email', JANE, '--export', join(folder, 'taken'), '--yes')).code).not.toBe(0)
  expect(await readdir(join(home, 'landing'))).not.toContain('.forgotten.ndjson')
})

it('forget is refused without a terminal, without a warehouse, and where copies of the person are out of its reach', async () => {
  const { folder, home, run, journal } = await loaded()
  const forget = (...args: string[]) => run('forget', '--email', JANE, ...args)
  const asked = await forget()
  expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining('CONFIRMATION_NEEDED')])
  expect(asked.stderr).toMatch(/An erasure rebuilds the warehouse, which needs .*B of disk and about/)
  await writeFile(join(home, 'warehouse.replaced-20261120T090000000Z.duckdb'), '')
  const moved = await forget('--yes')
  expect([moved.code, moved.stderr]).toEqual([
    2,
    expect.stringContaining('warehouse.replaced-20261120T090000000Z.duckdb'),
  ])
  await rm(join(home, 'warehouse.replaced-20261120T090000000Z.duckdb'))
  await mkdir(join(home, 'spool', 'ws_events'))
  const received = await forget('--yes')
  expect([received.code, received.stderr]).toEqual([2, expect.stringContaining('ws_events')])
  const { home: second, configure: configureSecond, run: runSecond } = await loaded()
  await configureSecond({ workspaces: [workspaceOf('ws_other')] })
  const unreached = await runSecond('forget', '--email', JANE, '--yes')
  expect([unreached.code, unreached.stderr]).toEqual([2, expect.stringContaining('ws')])
  await configureSecond({ home: join(folder, 'nowhere') })
  expect((await runSecond('forget', '--email', JANE, '--yes')).stderr).toContain('WAREHOUSE_MISSING')
  expect([await journal(), await readdir(join(second, 'landing'))]).toEqual([
    '',
    expect.not.arrayContaining(['.forgotten.ndjson']),
  ])
})

it.runIf(isDeep)('forget asks on a terminal, and erases only after yes', async () => {
  const { home, file, conversations, journal } = await loaded()
  const answered = async (answer: string) => {
    const terminal = onTerminal(`forget --email ${JANE} --config ${file}`, env)
    expect(await terminal.type('', 'Erase? This cannot be undone. [y/N]')).toContain('conversations  2 rows')
    await terminal.type(answer, '')
    return terminal.ended
  }
  for (const answer of ['\n', 'no\n', CTRL_C]) {
    const { code, shown } = await answered(answer)
    expect(code, shown).toBe(130)
    expect(shown).toContain('nothing was erased')
  }
  expect([await conversations(), await journal()]).toEqual([['c1', 'c2', 'c3', 'c4'], ''])
  const { code, shown } = await answered('y\n')
  expect(code, shown).toBe(0)
  expect(shown).toContain('Erased (')
  expect(await conversations()).toEqual(['c3', 'c4'])
  expect((await stat(join(home, 'landing', '.forgotten.key'))).mode & 0o777).toBe(0o600)
})

it('a target that cannot be reached stays open in erasures and status until it has published the deletion', async () => {
  const { folder, configure, spawned, run, json } = await loaded()
  const path = join(folder, 'bi.duckdb')
  const target = { name: 'bi', type: 'snapshot', path, pii: { identity: 'keep', content: 'keep' } }
  await configure({ targets: [target] })
  expect((await spawned('publish')).code).toBe(0)
  expect(await bytesContain(path, 'Jane Doe')).toBe(true)
  // A file in the place of the folder.
  await configure({ targets: [{ ...target, path: join(path, 'bi.duckdb') }] })
  const { code, stdout, stderr } = await spawned('forget', '--email', JANE, '--yes')
  expect(code, stderr).toBe(0)
  expect(stdout).toMatch(/open: bi \(/)
  expect((await json('erasures')).erasures[0].open).toEqual([{ place: 'bi', why: expect.any(String) }])
  expect((await run('status')).stdout).toMatch(/Erasures that are not complete\n.* open\n {2}open: bi \(/)
  expect((await json('status')).erasures).toHaveLength(1)
  await configure({ targets: [target] })
  expect((await spawned('publish', 'bi')).code).toBe(0)
  expect((await json('erasures')).erasures[0].open).toEqual([])
  expect((await json('status')).erasures).toEqual([])
  expect(await bytesContain(path, 'Jane Doe')).toBe(false)
  expect(await rowsIn(path, 'SELECT conversation_id FROM conversations ORDER BY ALL')).toEqual([['c3'], ['c4']])
})

it.runIf(isDeep)('a target that cannot be reached keeps no other from publishing the deletion', async () => {
  const { folder, configure, spawned, json } = await loaded()
  const path = join(folder, 'bi.duckdb')
  const target = { name: 'bi', type: 'snapshot', path, pii: { identity: 'keep', content: 'keep' } }
  const other = { name: 'lost', type: 'snapshot' }
  await configure({ targets: [target, { ...other, path: join(folder, 'lost', 'lost.duckdb') }] })
  expect((await spawned('publish')).code).toBe(0)
  expect(await bytesContain(path, 'Jane Doe')).toBe(true)
  await configure({ targets: [{ ...other, path: join(path, 'lost.duckdb') }, target] })
  const { code, stdout, stderr } = await spawned('forget', '--email', JANE, '--yes')
  expect(code, stderr).toBe(0)
  expect(stdout).toMatch(/open: lost \(/)
  expect(stdout).not.toContain('open: bi')
  expect(await bytesContain(path, 'Jane Doe')).toBe(false)
  expect(await rowsIn(path, 'SELECT conversation_id FROM conversations ORDER BY ALL')).toEqual([['c3'], ['c4']])
  expect((await json('erasures')).erasures[0].open).toEqual([{ place: 'lost', why: expect.any(String) }])
})
