// Findings of `doctor`. The tests in test/bi cover targets on servers that answer.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readdir, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Finding } from '../../src/cli/doctor/doctor.ts'
import { memory, memoryHere, nodeVersion, spaceOutcomes } from '../../src/cli/doctor/storage.ts'
import { placeFindings } from '../../src/cli/doctor/targets.ts'
import type { TargetConfig } from '../../src/config/targets.ts'
import type { Config } from '../../src/config.ts'
import { DAY } from '../../src/core/time.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import { writeDrainFailure } from '../../src/spool/drain-failure.ts'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { warehouseFile } from '../../src/warehouse/warehouse-file.ts'
import { landedFile } from '../landing/landed-file.ts'
import { freePort } from '../ports.ts'
import { ENTRY, newTarget, SETTINGS } from '../publish/published.ts'
import { scene, TOKEN, temporaryFolder } from './cli-process.ts'
import { inProcess } from './in-process.ts'
import { syncedOnce } from './synced-once.ts'
import { unreachedAddresses } from './unreached-servers.ts'

interface Diagnosis {
  code: number | null
  text: string
  checks: Omit<Finding, 'exitCode'>[]
  /** Returns the first line of a check. */
  of(check: string): Partial<Finding> | undefined
}

async function doctor(env: Record<string, string>, ...args: string[]): Promise<Diagnosis> {
  const { code, stdout, stderr } = await inProcess(['doctor', '--json', ...args], { env, cwd: await temporaryFolder() })
  expect(stderr).toBe('')
  const { exitCode, checks } = JSON.parse(stdout)
  expect(exitCode).toBe(code)
  return { code, text: stdout, checks, of: name => checks.find(({ check }: Finding) => check === name) }
}

const synced = syncedOnce({ conversations: 60 })

/** Returns every file below a folder, with its size and modification time. */
async function listing(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
  const facts = await Promise.all(files.map(file => stat(file)))
  return files.map((file, at) => `${file} ${facts[at]!.size} ${facts[at]!.mtimeMs}`).sort()
}

describe('doctor on a healthy data folder', () => {
  it('passes every check in order, sends one request that bills nothing, and changes no file', async () => {
    const { env, home, sandbox } = await synced()
    const before = await listing(home)
    const requests = async (since: number) => (await fetch(`${sandbox.url}/_sandbox/requests?since=${since}`)).json()
    const { total } = (await requests(0)) as { total: number }
    const found = await doctor(env)
    expect(found.code).toBe(0)
    expect(found.checks.map(({ check }) => check)).toEqual([
      ...['node', 'configuration', 'token', 'api', 'clock', 'export', 'data folder', 'space', 'memory', 'landing'],
      ...['warehouse', 'rules', 'quarantine', 'loads', 'freshness'],
    ])
    // Findings about the machine that runs the test are excluded.
    const ours = found.checks.filter(({ check }) => !['space', 'memory'].includes(check))
    expect(ours.filter(({ state }) => state !== 'ok')).toEqual([])
    expect(found.of('landing')!.found).toMatch(/^\d+ pages, all readable$/)
    expect(found.text).not.toContain(TOKEN)
    expect(await requests(total)).toMatchObject({ total: total + 1, requests: [{ kind: 'search' }] })
    expect(await listing(home)).toEqual(before)
  })

  it('fails with 1 and says what to do if the last sync is overdue, as status does; --max-age decides otherwise', async () => {
    const { env } = await synced()
    const wall = Date.now
    Date.now = () => wall() + 5 * DAY
    try {
      const found = await doctor(env, '--offline')
      const hint = expect.stringContaining('convohouse up')
      const late = { state: 'fail', found: expect.stringMatching(/^no sync has succeeded for 5 d/), hint }
      expect([found.code, found.of('freshness')]).toEqual([1, expect.objectContaining(late)])
      expect((await doctor(env, '--offline', '--max-age', '6d')).code).toBe(0)
      const status = await inProcess(['status'], { env })
      expect([status.code, status.stdout]).toEqual([
        0,
        expect.stringMatching(/\n {2}overdue {6}no sync has succeeded for 5 d.*\n {15}→ Check that/),
      ])
    } finally {
      Date.now = wall
    }
  })

  it('prints a line per check, a hint below it, and a conclusion', async () => {
    const { env, home } = await synced()
    await chmod(home, 0o755)
    const { code, stdout } = await inProcess(['doctor', '--offline'], { env })
    expect(code).toBe(0)
    expect(stdout).toMatch(/^ok {4}node {11}Node \d/)
    expect(stdout).toContain('\nskip  api            ws_demo: not checked (--offline)\n')
    expect(stdout).toContain('\nok    rules          all ')
    expect(stdout).toMatch(/\nwarn {2}data folder .*\n +→ Restrict it to its owner: chmod 700/)
    expect(stdout).toMatch(/\nNothing failed; .*\n$/)
  })
})

/** Returns a configuration file with one workspace and these settings. */
async function configured(env: Record<string, string>, settings: object, top: object = {}): Promise<string> {
  const file = join(await temporaryFolder(), 'convohouse.yaml')
  const workspace = { id: 'ws_demo', apiUrl: env.CONVOHOUSE_API_URL, token: { env: 'CONVOHOUSE_API_TOKEN' } }
  await writeFile(file, JSON.stringify({ home: 'data', ...top, workspaces: [{ ...workspace, ...settings }] }))
  return file
}

describe('doctor on access to the vendor', () => {
  it('names the variable that contains no token, and continues', async () => {
    const config = await configured((await scene()).env, { token: { env: 'MY_TOKEN' } })
    const found = await doctor({}, '--config', config)
    expect(found.code).toBe(2)
    const hint = expect.stringContaining('MY_TOKEN')
    expect(found.of('token')).toMatchObject({ state: 'fail', code: 'TOKEN_MISSING', workspaceId: 'ws_demo', hint })
    expect(found.of('api')).toMatchObject({ state: 'skip' })
    expect(found.of('data folder')).toMatchObject({ state: 'ok' })
  })

  it('warns of files with a token, a webhook secret or the password of a target that others can read', async () => {
    const folder = await temporaryFolder()
    const [token, secret, password] = ['the.token', 'the.secret', 'the.password'].map(name => join(folder, name))
    for (const file of [token!, secret!, password!]) {
      await writeFile(file, TOKEN)
      await chmod(file, 0o644)
    }
    const server = { type: 'postgres', host: 'localhost', database: 'bi', user: 'bi', passwordFile: password }
    const own = { token: { file: token }, webhooks: { secrets: [{ file: secret }] } }
    const config = await configured((await scene()).env, own, { targets: [{ name: 'bi', ...server }] })
    const found = await doctor({}, '--config', config, '--offline')
    const warnings = found.checks.filter(({ hint }) => hint?.includes('chmod 600'))
    expect(warnings.map(({ check, hint }) => [check, hint])).toEqual(
      Object.entries({ token, webhooks: secret, targets: password }).map(([check, file]) => [
        check,
        `Restrict it to its owner: chmod 600 ${file}`,
      ]),
    )
    await chmod(token!, 0o600)
    expect((await doctor({}, '--config', config)).of('token')).toMatchObject({ state: 'ok' })
  })

  it('exits with 3 if the vendor rejects the token, which it never prints, and with 5 if nothing answers', async () => {
    const { env, sandbox } = await scene()
    const wrong = 'canary-wrong-0815'
    const found = await doctor({ ...env, CONVOHOUSE_API_TOKEN: wrong })
    expect([found.code, found.of('api')!.code]).toEqual([3, 'API_UNAUTHORIZED'])
    // The refusal of a request also contains the vendor's time.
    expect(found.of('clock')).toMatchObject({ state: 'ok' })
    const { stdout } = await inProcess(['doctor'], { env: { ...env, CONVOHOUSE_API_TOKEN: wrong } })
    expect(found.text + stdout).not.toContain(wrong.slice(0, 6))
    await sandbox.close()
    const silent = await doctor(env)
    expect([silent.code, silent.of('api')!.code, silent.of('clock')!.state]).toEqual([5, 'API_UNAVAILABLE', 'skip'])
  })

  it('names a missing configuration, a workspace that is not configured, and one that no longer is', async () => {
    const { CONVOHOUSE_CONFIG: _, ...env } = (await synced()).env
    const none = await doctor({})
    expect([none.code, none.of('configuration')!.code]).toEqual([2, 'CONFIG_MISSING'])
    const nobody = await doctor(env, '--workspace', 'nobody')
    expect(nobody.of('configuration')).toMatchObject({ state: 'fail', code: 'WORKSPACE_UNKNOWN' })
    const other = await doctor({ ...env, CONVOHOUSE_WORKSPACE: 'ws_other' })
    expect(other.of('api')).toMatchObject({ state: 'fail', code: 'API_FORBIDDEN' })
    expect(other.of('workspaces')!.found).toContain('ws_demo')
  })

  it('reports from the lease log that a workspace without a plan may not export', async () => {
    const { env } = await scene({ paid: false, conversations: 20 })
    expect((await doctor(env)).of('export')).toMatchObject({ state: 'skip' })
    await inProcess(['sync'], { env })
    expect((await doctor(env)).of('export')).toMatchObject({ state: 'warn', found: expect.stringContaining('(403)') })
  })

  it('names host, cause and setting for every way in which an API cannot be reached, without the token', async () => {
    const addresses = await unreachedAddresses()
    const config = join(await temporaryFolder(), 'convohouse.yaml')
    const workspaces = Object.entries(addresses).map(([id, apiUrl]) => ({
      id,
      apiUrl,
      token: { env: 'T' },
      timeout: '1s',
    }))
    await writeFile(config, JSON.stringify({ home: 'data', workspaces }))
    const { text, checks } = await doctor({ T: TOKEN }, '--config', config)
    expect(text).not.toContain(TOKEN)
    const found = Object.fromEntries(
      checks.filter(({ check }) => check === 'api').map(one => [one.workspaceId, `${one.found} → ${one.hint}`]),
    )
    for (const way of ['closed', 'unknown', 'self-signed', 'no-tls'] as const) {
      expect(found[way]).toContain(new URL(addresses[way]).host)
      expect(found[way]).toContain(`\`apiUrl\` (${addresses[way]})`)
    }
    expect(found).toMatchObject({
      closed: expect.stringMatching(/refused the connection .*ECONNREFUSED.* → Check host and port of/),
      unknown: expect.stringMatching(/no-such-host\.invalid cannot be resolved.* → Check/),
      'self-signed': expect.stringMatching(/does not accept.*SELF_SIGNED_CERT.* → .*clock.*NODE_EXTRA_CA_CERTS/),
      'no-tls': expect.stringMatching(/does not speak TLS.* → .*must begin with http:\/\//),
      'no-http': expect.stringMatching(/closed the connection|does not speak HTTP/),
      cutting: expect.stringMatching(/closed the connection before it answered/),
      silent: expect.stringMatching(/was not answered within 1s \(`timeout`\)/),
    })
  })

  it('names the proxy of the environment that cannot be reached, or is none, without its password', async () => {
    const { CONVOHOUSE_CONFIG: _, ...env } = (await synced()).env
    const vendor = { ...env, CONVOHOUSE_API_URL: 'https://vendor.example.com' }
    for (const [proxy, words] of [
      [`http://me:canary@127.0.0.1:${await freePort()}`, /^The proxy http:\/\/127\.\S+ \(HTTPS_PROXY\) refused/],
      ['socks5://me:canary@127.0.0.1', /^The variable HTTPS_PROXY does not contain/],
    ] as const) {
      const found = await doctor({ ...vendor, HTTPS_PROXY: proxy })
      expect(found.of('api')).toMatchObject({ state: 'fail', found: expect.stringMatching(words) })
      expect(found.text).not.toContain('canary')
      expect((await doctor({ ...env, HTTP_PROXY: proxy })).of('api')).toMatchObject({ state: 'ok' })
    }
  })

  it("says that the clock is ahead of the vendor's, and how that affects windows", async () => {
    const { env } = await scene({ startMs: Date.now() - 10 * 60_000, speed: 1 })
    const clock = (await doctor(env)).of('clock')!
    expect(clock.state).toBe('warn')
    expect(clock.found).toMatch(
      /^is 10 min( \d s)? ahead of the vendor's, so displayed ages are 10 min( \d s)? too old$/,
    )
    expect(clock.hint).toContain('windows end by the earlier of both clocks')
  })

  it('reports which webhook secret is missing, too short, shared or no longer configured, and why events are not applied', async () => {
    const folder = await temporaryFolder()
    const home = join(folder, 'data')
    const secrets: Record<string, string[] | null> = {
      missing: ['NOWHERE'],
      short: ['SHORT'],
      good: ['GOOD', 'NEXT'],
      same: ['GOOD'],
      silent: null,
      'no-longer': null,
    }
    const workspaces = Object.entries(secrets).map(([id, names]) => ({
      ...{ id, apiUrl: 'http://127.0.0.1:1', token: { env: 'T' } },
      ...(names && { webhooks: { secrets: names.map(env => ({ env })) } }),
    }))
    const config = join(folder, 'convohouse.yaml')
    await writeFile(config, JSON.stringify({ home, workspaces }))
    for (const id of ['good', 'no-longer']) await mkdir(join(home, 'spool', id, 'sealed'), { recursive: true })
    const failure = { code: 'HOME_UNUSABLE', what: 'Cannot use it: the disk is full (ENOSPC).', hint: 'Make room.' }
    const at = { sinceMs: Date.now() - 120_000, attempts: 9, nextMs: Date.now(), pid: 1 }
    await writeDrainFailure(home, 'good', { ...failure, ...at })
    const env = { T: 'token', SHORT: 'sh0rt', GOOD: 'whsec-canary-1', NEXT: 'whsec-canary-2' }
    const found = await doctor(env, '--offline', '--config', config)
    const lines = found.checks.filter(({ check }) => check === 'webhooks')
    expect(lines.map(({ workspaceId, state, code, found }) => [workspaceId, state, code, found])).toEqual([
      ['missing', 'fail', 'SECRET_MISSING', expect.stringContaining('NOWHERE')],
      ['short', 'fail', 'CONFIG_INVALID', expect.stringContaining('fewer than 8 characters')],
      ['good', 'ok', null, '2 secrets, each set and long enough'],
      ['good', 'warn', null, expect.stringMatching(/events have not been applied for 2 min.*\(ENOSPC\)/)],
      ['same', 'ok', null, '1 secret, set and long enough'],
      ['no-longer', 'warn', null, expect.stringContaining('no secret is configured now')],
      [null, 'fail', 'CONFIG_INVALID', expect.stringContaining('two workspaces have the same webhook secret')],
    ])
    expect(found.text).not.toMatch(/sh0rt|whsec/)
  })
})

describe('doctor on a data folder', () => {
  it('fails if the warehouse has another layout or is damaged, and suggests a replay if it was deleted', async () => {
    const { env, home } = await synced()
    const { writer, close } = await openWarehouse({ home, memoryLimit: '1GB', threads: 1 })
    await writer.run(`UPDATE _layout SET number = 9999`).finally(close)
    const other = await doctor(env, '--offline')
    expect([other.code, other.of('warehouse')!.code]).toEqual([6, 'WAREHOUSE_LAYOUT'])
    await rm(warehouseFile(home))
    const gone = (await doctor(env, '--offline')).of('warehouse')!
    expect(gone).toMatchObject({ state: 'warn', hint: expect.stringContaining('convohouse replay') })
    await writeFile(warehouseFile(home), 'no database')
    const damaged = await doctor(env, '--offline')
    expect([damaged.code, damaged.of('warehouse')!.code, damaged.of('rules')]).toEqual([6, 'HOME_UNUSABLE', undefined])
  })

  it('names the process that holds the warehouse without answering', async () => {
    const { env, home } = await synced()
    const script = `import { DuckDBInstance } from '@duckdb/node-api'
      await DuckDBInstance.create(process.argv[1])
      console.log('held')
      setInterval(() => {}, 1000)`
    const words = ['--input-type=module', '--eval', script, warehouseFile(home)]
    const stdio = ['ignore', 'pipe', 'inherit'] as const
    const holder = spawn(process.execPath, words, { stdio: [...stdio], cwd: import.meta.dirname })
    onTestFinished(() => void holder.kill('SIGKILL'))
    await once(holder.stdout!, 'data')
    const found = await doctor(env)
    expect([found.code, found.of('warehouse')!.code]).toEqual([6, 'WAREHOUSE_LOCKED'])
    expect(found.of('warehouse')!.found).toContain(`${holder.pid}`)
  })

  it('reports a truncated page, a violated rule, quarantined records, pages that are not loaded, and mistyped agents, all at once', async () => {
    const { env, home } = await synced()
    const landing = openLanding(home).workspace('ws_demo')
    const newest = landedFile(home, (await landing.list('conversations')).at(-1)!.address)
    await truncate(newest, (await stat(newest)).size - 40)
    const { writer, close } = await openWarehouse({ home, memoryLimit: '1GB', threads: 1 })
    await writer
      .run(
        `INSERT INTO conversations SELECT * FROM conversations LIMIT 1;
         INSERT INTO _quarantine VALUES ('ws_demo', 'conversation', 'f', 0, 'unreadable', now());
         DELETE FROM _loads WHERE file = (SELECT min(file) FROM _loads WHERE stream = 'agents')`,
      )
      .finally(close)
    const [agent] = JSON.parse(
      (await inProcess(['query', '--format', 'json', 'SELECT agent_id AS id FROM agents LIMIT 1'], { env })).stdout,
    )
    const sla = [{ name: 'chat', agents: [agent.id, 'agent_typo'], firstResponse: '5m' }]
    const { CONVOHOUSE_CONFIG: _, ...variables } = env
    const found = await doctor(variables, '--config', await configured(env, { sla }, { home }))
    expect(found.code).toBe(6)
    const failures = found.checks.filter(({ state }) => state === 'fail').map(({ check, code }) => [check, code])
    expect(failures).toEqual([
      ['landing', 'LANDING_CORRUPT'],
      ...failures.slice(1).map(() => ['rules', 'WAREHOUSE_UNSOUND']),
    ])
    expect(found.checks.map(one => one.found)).toContain('1 row violates the rule conversations_unique.')
    expect(found.of('quarantine')).toMatchObject({ state: 'warn', found: '1 record could not be loaded' })
    expect(found.of('loads')).toMatchObject({ state: 'warn' })
    const typo = 'no agent of the workspace is "agent_typo"'
    expect(found.of('service levels')).toMatchObject({ state: 'warn', workspaceId: 'ws_demo', found: typo })
  })
})

describe('doctor on the machine', () => {
  it.each([
    ['20.19.0', 'ok'],
    ['22.0.0', 'ok'],
    ['20.9.0', 'fail'],
  ])('Node %s where 20.19 is needed: %s', (node, state) =>
    expect(nodeVersion(node, { version: '1.2.3', oldestNode: '20.19' }).state).toBe(state),
  )

  const GB = 1_000_000_000

  it.each([
    [8 * GB, '1GB', '1GB', null],
    [GB, '1GB', '1GB', '`memoryLimit: 400MB`'],
    [GB, '448MB', '1GB', '`replayMemoryLimit: 400MB`'],
    [memoryHere(), '1000TB', '1000TB', '`memoryLimit: '],
  ])('memory of %d for limits %s and %s', (has, memoryLimit, replayMemoryLimit, hint) => {
    const found = memory({ memoryLimit, replayMemoryLimit }, has)
    expect([found.state, found.hint]).toEqual(hint === null ? ['ok', null] : ['warn', expect.stringContaining(hint)])
  })

  it.each([
    [10 * GB, 2 * GB, 0xef53, ['ok']],
    [GB / 2, 0, 0xef53, ['warn']],
    [1_000_000, 0, 0xef53, ['fail']],
    // Some systems report the type as signed.
    [10 * GB, 0, 0xff534d42 | 0, ['warn', 'ok']],
    [10 * GB, 0, 0x01021994, ['warn', 'ok']],
  ])('%d bytes free beside a warehouse of %d on a file system %d: %j', (freeBytes, warehouseBytes, type, states) => {
    const found = spaceOutcomes({ freeBytes, warehouseBytes, landingBytes: 0, type })
    expect(found.map(({ state }) => state)).toEqual(states)
  })
})

describe('doctor on the place of a target', () => {
  const findingsOf = (home: string, target: TargetConfig, offline = false) => {
    const config = { home, threads: 1, publish: SETTINGS, extensions: join(home, 'extensions') } as unknown as Config
    return placeFindings({ config, target, offline, entry: ENTRY })
  }

  it('tries the folder where symbolic links lead', async () => {
    const home = await temporaryFolder()
    const target = newTarget(home)
    expect(await findingsOf(home, target)).toEqual([])
    await symlink('/proc/no/bi.duckdb', target.path)
    const found = expect.stringContaining('/proc')
    expect(await findingsOf(home, target)).toMatchObject([{ state: 'fail', code: 'TARGET_UNUSABLE', found }])
  })

  it('asks servers and loads extensions in a separate process, and not with --offline', async () => {
    const home = await temporaryFolder()
    const searched = newTarget(home, { search: 'simple' })
    const { pii, rows } = searched
    const connection = { host: 'db', port: 5432, database: 'bi', user: 'me', sslmode: 'require', sslrootcert: null }
    const at = { name: 'bi', type: 'postgres', connection, passwordFile: null, schema: 'bi' }
    const postgres = { ...at, pii, rows } as TargetConfig
    const missing = { state: 'fail', code: 'EXTENSION_UNAVAILABLE', found: expect.stringMatching(/: There is no ext/) }
    for (const target of [searched, postgres]) {
      expect(await findingsOf(home, target, true)).toMatchObject([{ state: 'skip' }])
      expect(await findingsOf(home, target)).toMatchObject([missing])
    }
  })
})
