// The process that holds the warehouse crashes: it is restarted, webhooks are accepted meanwhile, and nothing is lost.
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openWarehouse } from '../../../src/warehouse/open.ts'
import { queryHolder } from '../../../src/warehouse/query/http/holder-client.ts'
import { start } from '../../cli/cli-process.ts'
import { describeWithTemporal } from '../../run/temporal/with-temporal.ts'
import { NO_REFRESH, openScene, STILL, TOKEN_ENV } from '../../scene.ts'
import { isDeep } from '../../tier.ts'
import { until } from '../../until.ts'
import { expectedTables } from '../../workflows/simulated/expected-rows.ts'
import { readThrough, truthOf } from '../../workflows/simulated/truth.ts'
import { asLines, warehouseTables } from '../../workflows/simulated/warehouse-tables.ts'
import { SECRET } from '../webhook-command.ts'
import { makeSender } from '../webhook-sender.ts'
import { withoutTemporal } from '../without-temporal.ts'

/** Child processes, with their process ids and arguments. */
async function childrenOf(pid: number): Promise<{ pid: number; args: string }[]> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')).trim().split(/\s+/)
  return Promise.all(
    children.filter(Boolean).map(async child => ({
      pid: Number(child),
      args: (await readFile(`/proc/${child}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' '),
    })),
  )
}

async function place(env: Record<string, string>, args: string[]) {
  const scene = await openScene({
    sandbox: { ...STILL, conversations: 60, latencyMs: 150 },
    top: { webhooks: { port: 0 } },
    workspace: { pageSize: 10, ...NO_REFRESH, webhooks: { secrets: [{ env: 'SECRET' }] } },
  })
  onTestFinished(scene.close)
  const running = start([...args, '--config', scene.file], { env: { ...TOKEN_ENV, SECRET, ...env } })
  let said = ''
  running.process.stderr!.on('data', text => {
    said += text
  })
  const holder = () =>
    until(async () => (await childrenOf(running.process.pid!)).find(({ args: of }) => of.includes('--supervised'))?.pid)
  return { ...scene, running, said: () => said, holder }
}

type Place = Awaited<ReturnType<typeof place>>

const port = ({ said }: Place) => until(async () => Number(/127\.0\.0\.1:(\d+)\/webhooks/.exec(said())?.[1]))

const answers = ({ home }: Place) =>
  until(() =>
    queryHolder({ home, sql: 'SELECT 1', timeoutMs: 5_000 }).then(
      answer => answer.close().then(() => true),
      () => null,
    ),
  )

/** Kills the holder while it loads and events arrive; resolves when the crash has been reported. */
async function killHolder(there: Place): Promise<void> {
  await answers(there)
  const before = there.said().split('was ended by SIGSEGV').length
  process.kill(await there.holder(), 'SIGSEGV')
  await until(async () => there.said().split('was ended by SIGSEGV').length > before)
}

/** Each acknowledged event is applied once, and the tables equal the vendor's data. */
async function expectNothingLost({ sandbox, home }: Place, acknowledged: ReadonlySet<number>): Promise<void> {
  const warehouse = await openWarehouse({ home, memoryLimit: '1GB', threads: 1 })
  try {
    const truth = truthOf(sandbox, { throughMs: readThrough(sandbox.clock.now(), 120_000) })
    const expected = asLines(expectedTables(truth))
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

const ended = async ({ running }: Place): Promise<void> => {
  running.process.kill('SIGINT')
  const { code, stderr } = await running.ended
  expect(code, stderr).toBe(0)
}

describe('a crash of the process that holds the warehouse', () => {
  it('causes a restart, in `up` without Temporal: webhooks are accepted meanwhile, and nothing is lost', async () => {
    const there = await place(await withoutTemporal(), ['up', '--every', '10s'])
    const sender = makeSender({ secret: SECRET, connections: 2, bytes: 1_000, pauseMs: 20 })
    const load = sender.run(await port(there))
    await answers(there)
    // The message for the client of the query, and the message in the log.
    const query = queryHolder({ home: there.home, sql: "SELECT sleep_ms(60000), 'private'", timeoutMs: 60_000 })
    await sleep(300)
    const before = sender.acknowledged.size
    process.kill(await there.holder(), 'SIGSEGV')
    await expect(query).rejects.toMatchObject({ code: 'WAREHOUSE_ENDED', message: /ended while it ran this query/ })
    await until(async () => sender.acknowledged.size > before + 5)
    await until(async () => there.said().includes('it was running the query: SELECT sleep_ms(?), ?'))
    expect(there.said()).not.toContain('private')
    await killHolder(there)
    await answers(there)
    await load.stop()
    await there.running.said('next round at')
    await ended(there)
    await expectNothingLost(there, sender.acknowledged)
  })
})

describeWithTemporal('a crash of the warehouse process, on Temporal', ({ env }) => {
  it.skipIf(!isDeep)(
    'causes a restart, but loses neither a request nor an event: `up` continues exporting',
    { timeout: 240_000 },
    async () => {
      const there = await place(env, ['up', '--every', '1h'])
      const sender = makeSender({ secret: SECRET, connections: 1, bytes: 1_000, pauseMs: 20 })
      const load = sender.run(await port(there))
      await there.running.said('Up.')
      await until(async () => (await there.exported()).length > 3)
      const [pid, before] = [there.running.process.pid!, sender.acknowledged.size]
      await killHolder(there)
      expect(there.running.process.pid).toBe(pid)
      await until(async () => sender.acknowledged.size > before)
      await load.stop()
      const rows = (sql: string) =>
        queryHolder({ home: there.home, sql, timeoutMs: 5_000 }).then(
          async answer => {
            for await (const batch of answer.batches) return batch.columns[0]![0]
            return null
          },
          () => null,
        )
      const all = truthOf(there.sandbox, { throughMs: readThrough(there.sandbox.clock.now(), 120_000) }).length
      await until(async () => Number(await rows('SELECT count(*) FROM conversations')) === all)
      await until(async () => Number(await rows('SELECT count(*) FROM webhook_events')) >= sender.acknowledged.size)
      await ended(there)
      await expectNothingLost(there, sender.acknowledged)
      const requests = (await there.exported()).map(({ agentId, query }) => JSON.stringify([agentId, query]))
      expect(new Set(requests).size).toBe(requests.length)
    },
  )
})
