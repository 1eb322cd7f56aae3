import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readdir, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Finding } from '../../../src/cli/doctor/findings.ts'
import { openLanding } from '../../../src/landing/folder-landing.ts'
import { openWarehouse, warehouseFile } from '../../../src/warehouse/open.ts'
import { landedFile } from '../../landing/landed-file.ts'
import { scene, TOKEN, temporaryFolder } from '../cli-process.ts'
import { inProcess } from '../in-process.ts'
import { syncedOnce } from '../synced-once.ts'

interface Diagnosis {
  code: number | null
  text: string
  exitCode: number
  checks: Omit<Finding, 'exitCode'>[]
}

async function doctor(env: Record<string, string>, ...args: string[]): Promise<Diagnosis> {
  const { code, stdout, stderr } = await inProcess(['doctor', '--json', ...args], { env, cwd: await temporaryFolder() })
  expect(stderr).toBe('')
  const { exitCode, checks } = JSON.parse(stdout)
  expect(exitCode).toBe(code)
  return { code, text: stdout, exitCode, checks }
}

const checkOf = ({ checks }: Diagnosis, name: string) => checks.find(({ check }) => check === name)
const failed = ({ checks }: Diagnosis) => checks.filter(({ state }) => state === 'fail').map(({ check }) => check)

const SMALL = { conversations: 60 }

const synced = syncedOnce(SMALL)

/** Changes the warehouse directly, while no process holds it. */
async function inWarehouse(home: string, sql: string): Promise<void> {
  const { writer, close } = await openWarehouse({ home, memoryLimit: '1GB', threads: 1 })
  await writer.run(sql).finally(close)
}

/** Every file below a folder, with its size and modification time. */
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
    await fetch(`${sandbox.url}/_sandbox/reset-requests`, { method: 'POST' })
    const found = await doctor(env)
    expect(found.code).toBe(0)
    expect(found.checks.map(({ check }) => check)).toEqual([
      'node',
      'configuration',
      'token',
      'api',
      'clock',
      'export',
      'data folder',
      'space',
      'file system',
      'landing',
      'lease log',
      'warehouse',
      'layout',
      'rules',
      'quarantine',
      'loads',
      'locks',
      'memory',
      'versions',
    ])
    // Findings about the machine that runs the test are left out.
    const ours = found.checks.filter(({ check }) => !['space', 'file system', 'memory'].includes(check))
    expect(ours.filter(({ state }) => state !== 'ok')).toEqual([])
    expect(found.text).not.toContain(TOKEN)
    const requests = await (await fetch(`${sandbox.url}/_sandbox/requests`)).json()
    expect(requests).toMatchObject({ total: 1, requests: [{ kind: 'search' }] })
    expect(await listing(home)).toEqual(before)
  })

  it('prints a line per check and a conclusion; it counts half-written files of a killed process, but not those that are being written', async () => {
    const { env, home } = await synced()
    const folder = join(home, 'landing', 'ws_demo')
    const hourAgo = new Date(Date.now() - 3_600_000)
    await writeFile(join(folder, '.tmp-1-a'), 'half')
    await utimes(join(folder, '.tmp-1-a'), hourAgo, hourAgo)
    await writeFile(join(folder, '.tmp-1-b'), 'half')
    const { code, stdout } = await inProcess(['doctor', '--offline'], { env })
    expect(code).toBe(0)
    expect(stdout).toMatch(/^ok {4}node {11}Node \d/)
    expect(stdout).toContain('\nskip  api            ws_demo: not checked (--offline)\n')
    expect(stdout).toContain('\nok    rules          all ')
    expect(stdout).toMatch(
      /\nwarn +landing +ws_demo: 1 half-written file of a killed process\n.*-name '\.tmp-\*' -delete/,
    )
    expect(stdout).toMatch(/\nNothing failed; .*\n$/)
    expect(stdout).not.toContain(TOKEN)
    const landing = /, the landing (.*)\n/.exec(stdout)?.[1]
    expect((await inProcess(['status'], { env })).stdout).toMatch(
      new RegExp(`^  landing +\\d+ pages, ${landing};`, 'm'),
    )
  })

  it('accepts a data folder that does not exist yet, and does not create it', async () => {
    const { env, home } = await scene()
    const found = await doctor(env)
    expect(failed(found)).toEqual([])
    expect(checkOf(found, 'data folder')!.found).toContain('does not exist yet')
    expect(checkOf(found, 'warehouse')!.found).toContain('the first sync creates it')
    expect(await readdir(dirname(home))).toEqual(['convohouse.yaml'])
  })
})

it('doctor warns of agents in service levels that the workspace does not have', async () => {
  const { env, home } = await synced()
  const config = join(await temporaryFolder(), 'convohouse.json')
  const query = await inProcess(['query', '--format', 'json', 'SELECT agent_id AS id FROM agents LIMIT 1'], { env })
  const [{ id }] = JSON.parse(query.stdout)
  const check = async (...agents: string[]) => {
    const sla = [{ name: 'chat', agents, firstResponse: '5m' }]
    const workspace = { id: 'ws_demo', apiUrl: env.CONVOHOUSE_API_URL, token: { env: 'CONVOHOUSE_API_TOKEN' }, sla }
    await writeFile(config, JSON.stringify({ home, workspaces: [workspace] }))
    return checkOf(await doctor({ CONVOHOUSE_API_TOKEN: TOKEN }, '--offline', '--config', config), 'service levels')
  }
  expect(await check(id)).toBeUndefined()
  expect(await check(id, 'agent_typo')).toMatchObject({
    ...{ state: 'warn', workspaceId: 'ws_demo', found: 'no agent of the workspace is "agent_typo"' },
  })
})

describe('doctor without access to the vendor', () => {
  it('names the variable that contains no token, and continues', async () => {
    const { CONVOHOUSE_API_TOKEN: _, ...env } = (await scene()).env
    const folder = await temporaryFolder()
    const config = join(folder, 'convohouse.yaml')
    await writeFile(
      config,
      `home: data\nworkspaces:\n  - id: ws_demo\n    apiUrl: ${env.CONVOHOUSE_API_URL}\n    token: { env: MY_TOKEN }\n`,
    )
    const found = await doctor({}, '--config', config)
    expect(found.code).toBe(2)
    expect(checkOf(found, 'token')).toMatchObject({ state: 'fail', code: 'TOKEN_MISSING', workspaceId: 'ws_demo' })
    expect(checkOf(found, 'token')!.hint).toContain('MY_TOKEN')
    expect(checkOf(found, 'api')).toMatchObject({ state: 'skip' })
    expect(checkOf(found, 'versions')).toMatchObject({ state: 'ok' })
  })

  it('warns of a token file that others can read', async () => {
    const { env } = await scene()
    const folder = await temporaryFolder()
    const [config, token] = [join(folder, 'convohouse.yaml'), join(folder, 'the.token')]
    await writeFile(token, TOKEN)
    await chmod(token, 0o644)
    await writeFile(
      config,
      `home: data\nworkspaces:\n  - id: ws_demo\n    apiUrl: ${env.CONVOHOUSE_API_URL}\n    token: { file: the.token }\n`,
    )
    const found = await doctor({}, '--config', config)
    expect(found.code).toBe(0)
    expect(checkOf(found, 'token')).toMatchObject({
      state: 'warn',
      hint: `Restrict it to its owner: chmod 600 ${token}`,
    })
    await chmod(token, 0o600)
    expect(checkOf(await doctor({}, '--config', config), 'token')).toMatchObject({ state: 'ok' })
  })

  it('exits with 3 if the vendor rejects the token, which it never prints', async () => {
    const { env } = await scene()
    const wrong = 'canary-wrong-0815'
    const found = await doctor({ ...env, CONVOHOUSE_API_TOKEN: wrong })
    expect(found.code).toBe(3)
    expect(checkOf(found, 'api')).toMatchObject({ state: 'fail', code: 'API_UNAUTHORIZED' })
    // The refusal of a request also contains the vendor's time.
    expect(checkOf(found, 'clock')).toMatchObject({ state: 'ok' })
    const { stdout } = await inProcess(['doctor'], { env: { ...env, CONVOHOUSE_API_TOKEN: wrong } })
    expect(found.text + stdout).not.toContain(wrong.slice(0, 6))
  })

  it('exits with 5 if nothing answers at the address', async () => {
    const { env, sandbox } = await scene()
    await sandbox.close()
    const found = await doctor(env)
    expect(found.code).toBe(5)
    expect(checkOf(found, 'api')).toMatchObject({ state: 'fail', code: 'API_UNAVAILABLE' })
    expect(checkOf(found, 'clock')).toMatchObject({ state: 'skip' })
  })

  it('reports that there is no configuration, and still checks the data folder', async () => {
    const { home } = await synced()
    const found = await doctor({ CONVOHOUSE_HOME: home })
    expect(found.code).toBe(2)
    expect(failed(found)).toEqual(['configuration'])
    expect(checkOf(found, 'rules')).toMatchObject({ state: 'ok' })
  })

  it('names a workspace that is not configured, and one that no longer is', async () => {
    const empty = (await scene(SMALL)).env
    expect(checkOf(await doctor(empty, '--workspace', 'nobody'), 'configuration')).toMatchObject({
      state: 'fail',
      code: 'WORKSPACE_UNKNOWN',
    })
    const { CONVOHOUSE_CONFIG: _, ...variables } = (await synced()).env
    const other = await doctor({ ...variables, CONVOHOUSE_WORKSPACE: 'ws_other' })
    expect(checkOf(other, 'api')).toMatchObject({ state: 'fail', code: 'API_FORBIDDEN' })
    expect(checkOf(other, 'workspaces')!.found).toContain('ws_demo')
  })

  it('reports from the lease log that a workspace without a plan may not export', async () => {
    const { env } = await scene({ paid: false, conversations: 20 })
    expect(checkOf(await doctor(env), 'export')).toMatchObject({ state: 'skip' })
    const refused = await inProcess(['sync'], { env })
    expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining('error API_FORBIDDEN') })
    const found = await doctor(env)
    expect(checkOf(found, 'export')).toMatchObject({ state: 'warn' })
    expect(checkOf(found, 'export')!.found).toContain('(403)')
  })
})

describe('doctor with a wrong clock', () => {
  it.each([
    ['behind', 10 * 60_000],
    ['ahead of', -10 * 60_000],
  ])('says that it is %s that of the vendor, and how that affects windows', async (where, byMs) => {
    const { env } = await scene({ startMs: Date.now() + byMs, speed: 1 })
    const found = await doctor(env)
    expect(found.code).toBe(0)
    const clock = checkOf(found, 'clock')!
    expect(clock.state).toBe('warn')
    expect(clock.found).toMatch(
      new RegExp(`^is (10 min|9 min 5\\d s|10 min \\d s) ${where} the vendor's, so new conversations arrive .+ later$`),
    )
    expect(clock.hint).toContain('windows end by the earlier of both clocks')
  })
})

describe('doctor on a data folder', () => {
  it.skipIf(process.getuid?.() === 0)(
    'reports that it is read-only (skipped for the superuser, who may write everywhere)',
    async () => {
      const { env, home } = await scene()
      await mkdir(home)
      await chmod(home, 0o500)
      const found = await doctor(env)
      await chmod(home, 0o700)
      expect(found.code).toBe(6)
      expect(checkOf(found, 'data folder')).toMatchObject({ state: 'fail', code: 'HOME_UNUSABLE' })
    },
  )

  it('reports that it cannot be created because a file is in its place', async () => {
    const { env, home } = await scene()
    await writeFile(home, 'a file')
    const found = await doctor({ ...env, CONVOHOUSE_HOME: join(home, 'below') })
    expect(found.code).toBe(6)
    expect(checkOf(found, 'data folder')).toMatchObject({ state: 'fail', code: 'HOME_UNUSABLE' })
  })

  it('warns if others can read it', async () => {
    const { env, home } = await scene()
    await mkdir(home)
    await chmod(home, 0o755)
    const found = await doctor(env)
    expect(checkOf(found, 'data folder')).toMatchObject({
      state: 'warn',
      hint: `Restrict it to its owner: chmod 700 ${home}`,
    })
  })
})

describe('doctor on a warehouse', () => {
  it('reports that it was deleted, and suggests a replay', async () => {
    const { env, home } = await synced()
    await rm(warehouseFile(home))
    const gone = checkOf(await doctor(env, '--offline'), 'warehouse')!
    expect(gone.state).toBe('warn')
    expect(gone.hint).toContain('convohouse replay')
  })

  it('names the process that holds it without answering', async () => {
    const { env, home } = await synced()
    const holder = spawn(
      process.execPath,
      [
        '--input-type=module',
        '--eval',
        `import { DuckDBInstance } from '@duckdb/node-api'
         await DuckDBInstance.create(process.argv[1])
         console.log('held')
         setInterval(() => {}, 1000)`,
        warehouseFile(home),
      ],
      { stdio: ['ignore', 'pipe', 'inherit'], cwd: import.meta.dirname },
    )
    onTestFinished(() => {
      holder.kill('SIGKILL')
    })
    await once(holder.stdout, 'data')
    const found = await doctor(env)
    expect(found.code).toBe(6)
    expect(checkOf(found, 'warehouse')).toMatchObject({ state: 'fail', code: 'WAREHOUSE_LOCKED' })
    expect(checkOf(found, 'warehouse')!.found).toContain(`${holder.pid}`)
  })

  it('reports that it is damaged', async () => {
    const { env, home } = await synced()
    await writeFile(warehouseFile(home), 'no database')
    const found = await doctor(env)
    expect(found.code).toBe(6)
    expect(checkOf(found, 'warehouse')).toMatchObject({ state: 'fail', code: 'HOME_UNUSABLE' })
    expect(checkOf(found, 'locks')).toMatchObject({ state: 'skip' })
  })

  it('reports a truncated page, a violated rule, quarantined records and pages that are not loaded, all at once', async () => {
    const { env, home } = await synced()
    const landing = openLanding(home).workspace('ws_demo')
    const newest = landedFile(home, (await landing.list('conversations')).at(-1)!.address)
    await truncate(newest, (await stat(newest)).size - 40)
    await inWarehouse(
      home,
      `INSERT INTO conversations SELECT * FROM conversations LIMIT 1;
       INSERT INTO _quarantine VALUES ('ws_demo', 'conversation', 'f', 0, 'unreadable', now()::TIMESTAMP);
       DELETE FROM _loads WHERE file = (SELECT min(file) FROM _loads WHERE stream = 'agents')`,
    )
    const found = await doctor(env)
    expect(found.code).toBe(6)
    expect([...new Set(failed(found))]).toEqual(['landing', 'rules'])
    expect(checkOf(found, 'landing')).toMatchObject({ code: 'LANDING_CORRUPT' })
    const broken = found.checks.find(({ found }) => found === '1 row violates the rule conversations_unique.')
    expect(broken).toMatchObject({ check: 'rules', state: 'fail', code: 'WAREHOUSE_UNSOUND' })
    expect(checkOf(found, 'quarantine')).toMatchObject({ state: 'warn', found: '1 record could not be loaded' })
    expect(checkOf(found, 'loads')).toMatchObject({ state: 'warn' })
  })

  it('reports a warehouse of another layout', async () => {
    const { env, home } = await synced()
    await inWarehouse(home, `INSERT INTO _migrations VALUES (9999, '9999_future.sql', now()::TIMESTAMP)`)
    const found = await doctor(env)
    expect(found.code).toBe(6)
    expect(checkOf(found, 'warehouse')).toMatchObject({ code: 'WAREHOUSE_NEWER' })
  })
})
