// `convohouse publish` as users run it, and what `status` says about targets.
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openApp } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import { rowsIn } from '../publish/published.ts'
import { AGENT, landConversations } from '../warehouse/landed-pages.ts'
import { cli, TOKEN, temporaryFolder } from './cli-process.ts'
import { inProcess } from './in-process.ts'

it('publish writes the targets, says what it did, and goes on after one that fails; status says how fresh each is', async () => {
  const folder = await temporaryFolder()
  const [home, config] = [join(folder, 'data'), join(folder, 'convohouse.yaml')]
  const env = { CONVOHOUSE_API_TOKEN: TOKEN }
  const workspaces = [{ id: 'ws_demo', apiUrl: 'http://127.0.0.1:9', token: { env: 'CONVOHOUSE_API_TOKEN' } }]
  const configure = (targets: object[]) => writeFile(config, JSON.stringify({ home, threads: 1, targets, workspaces }))
  const run = (...args: string[]) => cli([...args, '--config', config], { env })
  const status = async () =>
    JSON.parse((await inProcess(['status', '--json', '--config', config], { env })).stdout).targets
  const landing = openLanding(home).workspace('ws_demo')
  await landConversations(landing, { records: [{ ID: 'a', userName: 'Ann', state: 'open' }] })
  await configure([])
  expect((await inProcess(['replay', '--config', config], { env })).code).toBe(0)
  const none = await run('publish')
  expect(none.code).toBe(2)
  expect(none.stderr).toContain('TARGET_UNKNOWN')
  const variables = { CONVOHOUSE_API_URL: 'http://127.0.0.1:9', CONVOHOUSE_WORKSPACE: 'ws_demo', ...env }
  expect((await inProcess(['publish'], { env: variables })).stderr).toContain('--config or CONVOHOUSE_CONFIG names it')

  await configure([{ name: 'versions', type: 'ducklake', catalog: { host: 'db', database: 'lake', user: 'u' } }])
  const ofLake = (await inProcess(['status', '--config', config], { env })).stdout
  expect(ofLake).toMatch(
    /Target versions\n {2}ducklake {5}db:5432\/lake, schema convohouse_lake\n {2}published {4}never/,
  )

  const path = join(folder, 'bi.duckdb')
  await configure([
    { name: 'broken', type: 'snapshot', path: '/proc/no/bi.duckdb' },
    { name: 'bi', type: 'snapshot', path },
  ])
  expect(await status()).toMatchObject([
    { target: 'broken', asOf: null },
    { target: 'bi', asOf: null, behind: null },
  ])
  const published = await run('publish', '--verify')
  expect(published.code).toBe(6)
  expect(published.stderr).toContain('broken: error TARGET_UNUSABLE')
  expect(published.stdout).toMatch(
    /^bi: written from empty \(it was empty\): [\d,]+ rows of \d+ tables in .*all equal\n$/,
  )
  expect(await rowsIn(path, 'SELECT conversation_id, state, length(user_name)::INT FROM conversations')).toEqual([
    ['a', 'open', 64],
  ])
  const [broken, bi] = await status()
  expect(broken).toMatchObject({ asOf: null, failure: { code: 'TARGET_UNUSABLE' } })
  expect(bi).toMatchObject({ behind: 0, failure: null, asOf: expect.stringMatching(/^20..-/) })
  const text = (await inProcess(['status', '--config', config], { env })).stdout
  expect(text).toMatch(/Target broken\n .*\n {2}published {4}never\n {2}last failure .*\n +TARGET_UNUSABLE: /)
  expect(text).toMatch(/Target bi\n {2}snapshot {5}.*bi\.duckdb\n {2}published {4}.*; has every change/)

  const doctor = async () => {
    const { stdout } = await inProcess(['doctor', '--offline', '--json', '--config', config], { env })
    return JSON.parse(stdout).checks.filter(({ check }: { check: string }) => check === 'targets')
  }
  const failed = {
    state: 'fail',
    code: 'TARGET_UNUSABLE',
    found: expect.stringMatching(/^broken: the last publication failed: /),
  }
  expect(await doctor()).toMatchObject([
    failed,
    { state: 'ok', found: expect.stringMatching(/^bi: has every change; /) },
  ])
  await rm(join(home, 'publish', 'hash-key'))
  const [, , key] = await doctor()
  expect(key).toMatchObject({ state: 'warn', found: expect.stringMatching(/hash-key .* missing, .* published to bi$/) })

  const again = await run('publish', 'bi', '--json')
  expect(JSON.parse(again.stdout)).toMatchObject({
    kind: 'published',
    mode: 'refill',
    reason: 'other policy',
    target: 'bi',
  })
  const asked = (...args: string[]) => inProcess([...args, '--config', config], { env })
  expect((await asked('publish', 'other')).stderr).toContain('broken, bi')

  // A process that holds the warehouse publishes by itself.
  const holder = await openApp({ config: readConfig({ path: config, env }) })
  const refused = await asked('publish', 'bi').finally(() => holder.close())
  expect([refused.code, refused.stderr]).toEqual([
    6,
    expect.stringMatching(/WAREHOUSE_LOCKED.*That process publishes what changes .*TEMPORAL_ADDRESS/s),
  ])
})

it('a target whose files are gone is reported, a failure only until a publication succeeds, what a check stops, and ids that select nothing', async () => {
  const folder = await temporaryFolder()
  const [home, config, place] = [join(folder, 'data'), join(folder, 'convohouse.yaml'), join(folder, 'published')]
  const env = { CONVOHOUSE_API_TOKEN: TOKEN }
  const workspaces = [{ id: 'ws_demo', apiUrl: 'http://127.0.0.1:9', token: { env: 'CONVOHOUSE_API_TOKEN' } }]
  const targets = [
    { name: 'bi', type: 'snapshot', path: join(place, 'bi.duckdb') },
    { name: 'lake', type: 'parquet', path: join(place, 'lake') },
  ]
  await writeFile(config, JSON.stringify({ home, threads: 1, targets, workspaces }))
  const run = (...args: string[]) => cli([...args, '--config', config], { env })
  const json = async (...args: string[]) =>
    JSON.parse((await inProcess([...args, '--json', '--config', config], { env })).stdout)
  const state = async () => (await json('status')).targets
  await landConversations(openLanding(home).workspace('ws_demo'), { records: [{ ID: 'a', userName: 'Ann' }] })
  expect((await run('replay')).code).toBe(0)
  expect((await run('publish')).code).toBe(0)
  expect(await state()).toMatchObject([
    { isGone: false, behind: 0 },
    { isGone: false, behind: 0 },
  ])

  await rename(place, join(folder, 'elsewhere'))
  expect(await state()).toMatchObject([
    { isGone: true, behind: null, lagSeconds: expect.any(Number) },
    { isGone: true, behind: null },
  ])
  const gone = { state: 'warn', found: expect.stringContaining('no longer there') }
  const checks = (await json('doctor', '--offline')).checks
  expect(checks.filter(({ check }: { check: string }) => check === 'targets')).toMatchObject([gone, gone])

  await writeFile(place, 'no folder')
  expect((await run('publish')).code).toBe(6)
  expect(await state()).toMatchObject([{ failure: { attempts: 1 } }, { failure: { attempts: 1 } }])
  await rm(place)
  await rename(join(folder, 'elsewhere'), place)
  expect((await run('publish')).stdout).toBe('bi: has every change already\nlake: has every change already\n')
  expect(await state()).toMatchObject([
    { isGone: false, behind: 0, failure: null },
    { isGone: false, behind: 0, failure: null },
  ])

  const rows = { agents: [AGENT, 'agent_typo'], organizations: ['org_typo'] }
  const models = join(folder, 'models')
  await mkdir(models)
  await writeFile(join(models, 'nameless.sql'), 'SELECT 1 AS one')
  await writeFile(config, JSON.stringify({ home, threads: 1, models, targets: [{ ...targets[0], rows }], workspaces }))
  const holder = await openApp({ config: readConfig({ path: config, env }) })
  await holder.warehouse.writer
    .run(`INSERT INTO _checks BY NAME SELECT unnest(['mine', 'quiet', 'tags_unique']) AS name, '' AS about, 'conversation_tags' AS table_name, 'error' AS severity,
      unnest([false, false, true]) AS blocks, unnest(['broken', 'failed', 'failed']) AS outcome, '[]' AS examples,
      now() AS checked_at, 0 AS duration_ms, '' AS epoch, 0 AS seq`)
    .finally(() => holder.close())
  expect(await state()).toMatchObject([{ failure: null, selectingNone: ['agent_typo', 'org_typo'] }])
  const text = (await inProcess(['status', '--config', config], { env })).stdout
  expect(text).toMatch(/; has every change\n {2}rows {9}no agent is selected by "agent_typo", "org_typo"\n/)
  const emptied = await run('publish')
  expect(emptied.code).toBe(6)
  expect(emptied.stderr).toMatch(
    /^bi: error PUBLICATION_BLOCKED: .*check tags_unique fails: it was written from empty, without rows in conversations\.\n.*`convohouse check tags_unique`/,
  )
  expect(await state()).toMatchObject([{ failure: { code: 'PUBLICATION_BLOCKED' } }])
  const failed = { state: 'fail', code: 'PUBLICATION_BLOCKED' }
  const filter = { state: 'warn', found: 'bi: no agent is selected by "agent_typo", "org_typo"' }
  const found = (await json('doctor', '--offline')).checks
  expect(found.filter(({ check }: { check: string }) => check === 'targets')).toMatchObject([failed, filter])

  const repaired = await openApp({ config: readConfig({ path: config, env }) })
  await repaired.warehouse.writer.run(`DELETE FROM _checks WHERE name = 'tags_unique'`).finally(() => repaired.close())
  const warnings = [
    'the model nameless could not be built: `convohouse status` shows why',
    'the check mine cannot run: `convohouse check` shows why',
  ]
  const filled = await run('publish')
  expect([filled.code, filled.stderr]).toEqual([0, warnings.map(warning => `warning: ${warning}\n`).join('')])
  expect(filled.stdout).toMatch(/^bi: written from empty \(its configuration or the models had changed\): /)
  expect(JSON.parse((await run('publish', '--json')).stdout)).toMatchObject({ mode: 'current', warnings })
})
