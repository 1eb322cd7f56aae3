// `convohouse publish` as users run it, and the output of `status` and `doctor` about targets.
import { cp, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { openApp } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import { folderOfFile } from '../of-file.ts'
import { rowsIn } from '../publish/published.ts'
import { isDeep } from '../tier.ts'
import { AGENT, landConversations } from '../warehouse/landed-pages.ts'
import { cli, TOKEN, temporaryFolder } from './cli-process.ts'
import { inProcess } from './in-process.ts'

const env = { CONVOHOUSE_API_TOKEN: TOKEN }
const WITHOUT_FILE = { CONVOHOUSE_API_URL: 'http://127.0.0.1:9', CONVOHOUSE_WORKSPACE: 'ws_demo', ...env }

/** A data folder with one conversation in the warehouse, which tests copy. */
const filled = await folderOfFile()

beforeAll(async () => {
  const page = { records: [{ ID: 'a', userName: 'Ann', state: 'open' }] }
  await landConversations(openLanding(filled).workspace('ws_demo'), page)
  const { code, stderr } = await inProcess(['replay'], { env: { ...WITHOUT_FILE, CONVOHOUSE_HOME: filled } })
  expect(code, stderr).toBe(0)
})

async function loaded() {
  const folder = await temporaryFolder()
  const [home, config] = [join(folder, 'data'), join(folder, 'convohouse.yaml')]
  await cp(filled, home, { recursive: true })
  const workspaces = [{ id: 'ws_demo', apiUrl: 'http://127.0.0.1:9', token: { env: 'CONVOHOUSE_API_TOKEN' } }]
  const configure = (targets: object[], more: object = {}) =>
    writeFile(config, JSON.stringify({ home, threads: 1, targets, workspaces, ...more }))
  const run = (...args: string[]) => inProcess([...args, '--config', config], { env })
  const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout)
  await configure([])
  return {
    ...{ folder, home, configure, run },
    // Publishes in a process of the built command.
    publish: (...args: string[]) => cli(['publish', ...args, '--config', config], { env }),
    holder: () => openApp({ config: readConfig({ path: config, env }) }),
    status: async () => (await json('status')).targets,
    text: async () => (await run('status')).stdout,
    doctor: async () =>
      (await json('doctor', '--offline')).checks.filter(({ check }: { check: string }) => check === 'targets'),
  }
}

it('publish writes the targets, prints the results, and continues after one that fails; status and doctor show how fresh each is', async () => {
  const { folder, home, configure, run, publish, holder, status, text, doctor } = await loaded()
  const none = await run('publish')
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('TARGET_UNKNOWN')])
  expect((await inProcess(['publish'], { env: WITHOUT_FILE })).stderr).toContain(
    '--config or CONVOHOUSE_CONFIG names it',
  )

  const place = join(folder, 'published')
  const path = join(place, 'bi.duckdb')
  const targets = [
    { name: 'versions', type: 'ducklake', catalog: { host: 'db', database: 'lake', user: 'u' } },
    { name: 'broken', type: 'snapshot', path: '/proc/no/bi.duckdb' },
    { name: 'bi', type: 'snapshot', path },
  ]
  await configure(targets)
  expect(await text()).toMatch(
    /Target versions\n {2}ducklake {5}db:5432\/lake, schema convohouse_lake\n {2}published {4}never/,
  )
  await configure(targets.slice(1))
  const published = await publish('--verify')
  expect([published.code, published.stderr]).toEqual([6, expect.stringContaining('broken: error TARGET_UNUSABLE')])
  expect(published.stdout).toMatch(
    /^bi: written from empty \(it was empty\): [\d,]+ rows of \d+ tables in .*all equal\n$/,
  )
  expect(await rowsIn(path, 'SELECT conversation_id, state, length(user_name)::INT FROM conversations')).toEqual([
    ['a', 'open', 64],
  ])
  expect(await status()).toMatchObject([
    { asOf: null, failure: { code: 'TARGET_UNUSABLE' } },
    { behind: 0, failure: null, isGone: false, asOf: expect.stringMatching(/^20..-/) },
  ])
  const shown = await text()
  expect(shown).toMatch(/Target broken\n .*\n {2}published {4}never\n {2}last failure .*\n +TARGET_UNUSABLE: /)
  expect(shown).toMatch(/Target bi\n {2}snapshot {5}.*bi\.duckdb\n {2}published {4}.*; has every change/)
  const failed = { state: 'fail', code: 'TARGET_UNUSABLE', found: expect.stringMatching(/^broken: the last publ/) }
  expect(await doctor()).toMatchObject([failed, { state: 'ok', found: expect.stringMatching(/^bi: has every/) }])

  await rename(place, join(folder, 'elsewhere'))
  expect((await status())[1]).toMatchObject({ isGone: true, behind: null, lagSeconds: expect.any(Number) })
  expect((await doctor())[1]).toMatchObject({ state: 'warn', found: expect.stringContaining('no longer there') })
  await rename(join(folder, 'elsewhere'), place)
  await rm(join(home, 'publish', 'hash-key'))
  expect((await doctor())[2]).toMatchObject({ state: 'warn', found: expect.stringMatching(/hash-key .* missing/) })

  expect((await run('publish', 'other')).stderr).toContain('broken, bi')
  // A process that holds the warehouse publishes by itself.
  const held = await holder()
  const refused = await run('publish', 'bi').finally(() => held.close())
  expect([refused.code, refused.stderr]).toEqual([
    6,
    expect.stringMatching(/WAREHOUSE_LOCKED.*That process publishes what changes .*TEMPORAL_ADDRESS/s),
  ])
})

it('ids that select nothing are reported, as are models and checks that stop a publication, until it succeeds', async () => {
  const { folder, configure, publish, holder, status, text, doctor } = await loaded()
  const models = join(folder, 'models')
  await mkdir(models)
  await writeFile(join(models, 'nameless.sql'), 'SELECT 1 AS one')
  const rows = { agents: [AGENT, 'agent_typo'], organizations: ['org_typo'] }
  await configure([{ name: 'bi', type: 'snapshot', path: join(folder, 'bi.duckdb'), rows }], { models })
  const change = async (sql: string) => {
    const { warehouse, close } = await holder()
    await warehouse.writer.run(sql).finally(close)
  }
  await change(`INSERT INTO _checks BY NAME SELECT unnest(['mine', 'quiet', 'tags_unique']) AS name, '' AS about, 'conversation_tags' AS table_name,
    'error' AS severity, unnest([false, false, true]) AS blocks, unnest(['broken', 'failed', 'failed']) AS outcome, '[]' AS examples,
    now() AS checked_at, 0 AS duration_ms, '' AS epoch, 0 AS seq`)
  const blocked = await publish()
  expect([blocked.code, blocked.stderr]).toEqual([
    6,
    expect.stringMatching(
      /^bi: error PUBLICATION_BLOCKED: .*check tags_unique fails.*\n.*`convohouse check tags_unique`/,
    ),
  ])
  expect(await status()).toMatchObject([
    { failure: { code: 'PUBLICATION_BLOCKED', attempts: 1 }, selectingNone: ['agent_typo', 'org_typo'] },
  ])
  expect(await doctor()).toMatchObject([
    { state: 'fail', code: 'PUBLICATION_BLOCKED' },
    { state: 'warn', found: 'bi: nothing is selected by "agent_typo", "org_typo"' },
  ])

  await change(`DELETE FROM _checks WHERE name = 'tags_unique'`)
  const warnings = [
    'bi: nothing is selected by "agent_typo", "org_typo": correct its `rows` or `pii`',
    'the model nameless could not be built: `convohouse status` shows why',
    'the check mine cannot run: `convohouse check` shows why',
  ]
  const filled = await publish('--json')
  expect(JSON.parse(filled.stdout)).toMatchObject({ kind: 'published', mode: 'refill', warnings })
  expect(await status()).toMatchObject([{ failure: null, behind: 0 }])
  expect(await text()).toMatch(/; has every change\n {2}rows {9}nothing is selected by "agent_typo", "org_typo"\n/)
  const more = ['one', 'two'].map(name => ({ name, type: 'snapshot', path: join(folder, `${name}.duckdb`), rows }))
  await configure(more)
  const each = { selectingNone: ['agent_typo', 'org_typo'] }
  expect(await status()).toMatchObject([each, each])
  expect((await doctor()).map(({ state }: { state: string }) => state)).toEqual(['warn', 'warn'])
  if (!isDeep) return
  expect((await publish()).stderr).toContain(`warning: ${warnings[2]}\n`)
})
