// The process that holds the warehouse runs too many slow queries and crashes: other work continues, and nothing is lost.
import { readdir, readFile } from 'node:fs/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ConvohouseError } from '../../../src/core/errors.ts'
import { spoolFolders } from '../../../src/spool/folders.ts'
import { openWarehouse } from '../../../src/warehouse/open.ts'
import { queryHolder } from '../../../src/warehouse/query/http/holder-client.ts'
import { start } from '../../cli/cli-process.ts'
import { NO_REFRESH, openScene, STILL, TOKEN_ENV, writeConfig } from '../../scene.ts'
import { isDeep } from '../../tier.ts'
import { until } from '../../until.ts'
import { expectedTables } from '../../workflows/simulated/expected-rows.ts'
import { readThrough, truthOf } from '../../workflows/simulated/truth.ts'
import { asLines, warehouseTables } from '../../workflows/simulated/warehouse-tables.ts'
import { SECRET } from '../webhook-command.ts'
import { makeSender } from '../webhook-sender.ts'
import { withoutTemporal } from '../without-temporal.ts'

/** Parses log lines: an ISO-8601 time in UTC, and the message. */
const STAMPED = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ./

/** Returns process ids and arguments of the child processes of `pid`. */
async function childrenOf(pid: number): Promise<{ pid: number; args: string }[]> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')).trim().split(/\s+/)
  return Promise.all(
    children.filter(Boolean).map(async child => ({
      pid: Number(child),
      args: (await readFile(`/proc/${child}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' '),
    })),
  )
}

const NEXT_SECRET = `${SECRET}-next`

/** Settings with these variables as secrets of webhooks. */
const settingsWith = (...secrets: string[]) => ({
  top: { webhooks: { port: 0 } },
  workspace: {
    ...{ pageSize: 10, resources: 'none', ...NO_REFRESH },
    webhooks: { secrets: secrets.map(env => ({ env })) },
  },
})

async function startScene(env: Record<string, string>, args: string[], latencyMs = 150) {
  const sandbox = { ...STILL, conversations: 60, latencyMs }
  const scene = await openScene({ sandbox, ...settingsWith('SECRET') })
  onTestFinished(scene.close)
  const running = start([...args, '--config', scene.file], { env: { ...TOKEN_ENV, SECRET, NEXT_SECRET, ...env } })
  let stderr = ''
  running.process.stderr!.on('data', text => {
    stderr += text
  })
  const holder = () =>
    until(async () => (await childrenOf(running.process.pid!)).find(({ args: of }) => of.includes('--supervised'))?.pid)
  return { ...scene, running, stderr: () => stderr, holder }
}

type CrashScene = Awaited<ReturnType<typeof startScene>>

const port = ({ stderr }: CrashScene) => until(async () => Number(/127\.0\.0\.1:(\d+)\/webhooks/.exec(stderr())?.[1]))

const answers = ({ home }: CrashScene) =>
  until(() =>
    queryHolder({ home, sql: 'SELECT 1', timeoutMs: 5_000 }).then(
      answer => answer.close().then(() => true),
      () => null,
    ),
  )

/** Expects that `up` accepts the secrets that its configuration file names, and those of a changed file after SIGHUP. */
async function expectReload(scene: CrashScene): Promise<void> {
  const url = `http://127.0.0.1:${await port(scene)}/webhooks`
  const statuses = () =>
    Promise.all(
      [SECRET, NEXT_SECRET].map(async workspaceSecret => {
        const event = { event: 'webhook_test', createdAt: 1_700_000_000, workspaceSecret }
        return (await fetch(url, { method: 'POST', body: JSON.stringify(event) })).status
      }),
    )
  expect(await statuses()).toEqual([200, 401])
  const { folder, home, sandbox } = scene
  await writeConfig(folder, { home, url: sandbox.url, ...settingsWith('SECRET', 'NEXT_SECRET') })
  scene.running.process.kill('SIGHUP')
  await scene.running.said('ws_demo (2 secrets)')
  expect(await statuses()).toEqual([200, 200])
}

/** Kills the process that holds the warehouse, as soon as it answers queries; resolves when the crash is reported. */
async function killHolder(scene: CrashScene): Promise<void> {
  await answers(scene)
  const before = scene.stderr().split('was ended by SIGSEGV').length
  process.kill(await scene.holder(), 'SIGSEGV')
  await until(async () => scene.stderr().split('was ended by SIGSEGV').length > before)
}

/** Expects that each acknowledged event is applied once, and that the tables equal the vendor's data. */
async function expectNothingLost({ sandbox, home }: CrashScene, acknowledged: ReadonlySet<number>): Promise<void> {
  const warehouse = await openWarehouse({ home, memoryLimit: '1GB', threads: 1 })
  try {
    const truth = truthOf(sandbox, { throughMs: readThrough(sandbox.clock.now(), 120_000) })
    const expected = asLines(await expectedTables(truth))
    const {
      messages_received: _messages,
      webhook_events: _events,
      ...exported
    } = asLines(await warehouseTables(warehouse.writer.rows))
    expect(exported).toEqual(expected)
    const events = await warehouse.writer.rows<{ n: string }>(
      'SELECT epoch(_as_of)::BIGINT::VARCHAR AS n FROM webhook_events',
    )
    const found = events.map(({ n }) => Number(n))
    expect([...acknowledged].filter(number => number > 0 && !found.includes(number))).toEqual([])
    expect(found.length).toBe(new Set(found).size)
  } finally {
    await warehouse.close()
  }
}

const endsWith = async (exitCode: number, { running }: CrashScene): Promise<void> => {
  running.process.kill('SIGINT')
  const { code, stderr } = await running.ended
  expect(code, stderr).toBe(exitCode)
}

describe('the process that holds the warehouse', () => {
  it('delays no webhook, no sync and no loading for slow queries, and is restarted after a crash, in `up` without Temporal: webhooks are accepted all the time, secrets are reloaded at SIGHUP, and nothing is lost', async () => {
    // Answers are slow, so that the queries begin before the first round has ended.
    const scene = await startScene(await withoutTemporal(), ['up', '--every', '10s'], 1_500)
    const { home } = scene
    await expectReload(scene)
    const sender = makeSender({ secret: SECRET, connections: 2, bytes: 1_000, pauseMs: 100 })
    const load = sender.run(await port(scene))
    await answers(scene)
    let over = 0
    // More queries than the four that run at a time. The waiting ones are refused after a while; the clients of the
    // four get an error when the process crashes.
    const slow = Array.from({ length: 20 }, () =>
      queryHolder({ home, sql: "SELECT sleep_ms(600000), 'private'", timeoutMs: 600_000 })
        .catch((error: ConvohouseError) => error)
        .finally(() => {
          over += 1
        }),
    )
    // A query that times out while it waits proves that slow queries hold all slots.
    const refused = await until(() =>
      queryHolder({ home, sql: 'SELECT 1', timeoutMs: 400 }).then(
        answer => answer.close(),
        error => error,
      ),
    )
    expect(refused).toMatchObject({ code: 'TOO_MANY_QUERIES', message: /runs 4 queries at a time.*waited 0.4 s/ })
    expect(scene.stderr()).not.toContain('next round')
    const { drained } = spoolFolders(home, 'ws_demo')
    await until(async () => (await readdir(drained).catch(() => []))[0])
    await scene.running.said('next round at')
    // Four slow queries are still running, so none of them has freed a thread for this work.
    expect(over).toBeLessThanOrEqual(slow.length - 4)

    const before = sender.acknowledged.size
    process.kill(await scene.holder(), 'SIGSEGV')
    const ended = {
      code: 'WAREHOUSE_ENDED',
      message: expect.stringContaining('ended while it ran this query') as string,
    }
    expect(await Promise.all(slow)).toEqual(expect.arrayContaining([expect.objectContaining(ended)]))
    // The log names the queries that ran during the crash, without their literals.
    await until(async () => sender.acknowledged.size > before + 5)
    await until(async () => scene.stderr().includes('it was running the query: SELECT sleep_ms(?), ?'))
    for (const text of ['private', SECRET]) expect(scene.stderr()).not.toContain(text)
    await killHolder(scene)
    await answers(scene)
    await load.stop()
    await scene.running.said('next round at')
    await endsWith(0, scene)
    await expectNothingLost(scene, sender.acknowledged)
    expect(scene.stderr().match(/^.*without Temporal.*$/gm)).toHaveLength(1)
    const lines = scene.stderr().split('\n')
    const logged = lines.filter(line => /ws_demo|Metrics|Syncing/.test(line))
    expect(logged.length).toBeGreaterThan(3)
    expect(logged.filter(line => !STAMPED.test(line))).toEqual([])
  })

  it.runIf(isDeep)('is restarted after a crash in `sync --watch`, which continues its round', async () => {
    const scene = await startScene({}, ['sync', '--watch', '1h', '--yes'])
    await killHolder(scene)
    await scene.running.said('next round at')
    await endsWith(130, scene)
    await expectNothingLost(scene, new Set())
  })

  it.runIf(isDeep)('does not outlive its parent, even one that is killed while it is starting', async () => {
    const scene = await startScene({}, ['sync', '--watch', '1h', '--yes'])
    const holder = await scene.holder()
    scene.running.process.kill('SIGKILL')
    await until(async () => (await readFile(`/proc/${holder}/cmdline`, 'utf8').catch(() => '')) === '')
    await scene.running.ended
  })
})
