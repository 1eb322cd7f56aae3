// Storage that fails while events arrive: the host keeps running, `status` reports the failure, and all events reach the tables
// after the storage is repaired, without a restart.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from '@temporalio/client'
import { describe, expect, it } from 'vitest'
import { ingestId } from '../../../src/run/temporal/worker/drain.ts'
import { cli, type Running, start, temporaryFolder } from '../../cli/cli-process.ts'
import { smallDisks, whyNoDisk } from '../../faults/disk/small-disk.ts'
import { connected, describeWithTemporal } from '../../run/temporal/with-temporal.ts'
import { until } from '../../until.ts'

const noDisk = whyNoDisk()
if (noDisk) console.warn(`skipped, storage that fails under events: ${noDisk}`)

const SECRET = 'canary-webhook-secret'
/** Interval of checks; not short, because each check starts a process. */
const CHECK_EVERY_MS = 1_500

interface EventsStatus {
  received: number
  waiting: number
  unreadableSegments: number
  failing: { code: string; what: string; attempts: number; nextTry: string; since: string } | null
}

/** A receiver, and a process that applies events (command `begin`); the data folder and its spool are on separate small disks. */
async function failingApp(begin: string[], env: Record<string, string>) {
  const folder = await temporaryFolder()
  const home = join(folder, 'data')
  const disk = await smallDisks([home, join(home, 'spool')])
  const path = join(folder, 'convohouse.yaml')
  const workspace = {
    id: 'ws',
    apiUrl: 'http://127.0.0.1:1',
    token: { env: 'T' },
    webhooks: { secrets: [{ env: 'S' }] },
  }
  const temporal = { queues: `storage-${process.pid}-${begin[0]}` }
  await writeFile(path, JSON.stringify({ home, threads: 1, webhooks: { port: 0 }, temporal, workspaces: [workspace] }))
  const options = { env: { T: 'none', S: SECRET, ...env }, through: disk.through }
  const at = (...args: string[]) => [...args, '--config', path] as const
  const receiver = start(at('receive', '--json'), options)
  const firstLine = await new Promise<string>(resolve =>
    receiver.process.stdout!.once('data', text => resolve(String(text))),
  )
  const { url } = JSON.parse(firstLine) as { url: string }
  const drainer: Running = start(at(...begin), options)
  let sent = 0
  return {
    disk,
    home,
    drainer,
    begin: () => start(at(...begin), options),
    /** Sends this many large events and expects an acknowledgement of each. */
    async send(many: number) {
      for (let left = many; left > 0; left--) {
        const message = { agentId: 'a', convoId: 'c', messageContent: 'x'.repeat(50_000) }
        const event = { event: 'message_received', createdAt: Date.now() + sent++, ...message }
        const body = JSON.stringify({ ...event, workspaceSecret: SECRET })
        expect((await fetch(`${url}/webhooks`, { method: 'POST', body })).status).toBe(200)
      }
    },
    async applied(): Promise<number> {
      const asked = ['query', 'SELECT count(*) AS n FROM webhook_events', '--format', 'json'] as const
      const { code, stdout } = await cli(at(...asked), options)
      return code === 0 ? Number((JSON.parse(stdout) as { n: string }[])[0]!.n) : 0
    },
    async events(): Promise<EventsStatus> {
      const { stdout } = await cli(at('status', '--json'), options)
      return (JSON.parse(stdout) as { workspaces: { events: EventsStatus }[] }).workspaces[0]!.events
    },
    status: async () => (await cli(at('status'), options)).stdout,
  }
}

type FailingApp = Awaited<ReturnType<typeof failingApp>>

/** Fills the warehouse's disk, but not the spool's, while events arrive; expects all events in the tables after space is freed. */
async function expectRecovery(there: FailingApp): Promise<void> {
  const { disk, home, drainer } = there
  await there.send(1)
  await until(async () => (await there.applied()) === 1, { everyMs: CHECK_EVERY_MS })
  await disk.fill(home, 0)
  await there.send(4)
  await until(async () => (await there.events()).failing !== null, { everyMs: CHECK_EVERY_MS })
  const { failing, ...counts } = await there.events()
  expect(counts).toMatchObject({ received: 5, waiting: 4, unreadableSegments: 0 })
  expect(failing).toMatchObject({ code: 'HOME_UNUSABLE', what: expect.stringMatching(/warehouse.*the disk is full/) })
  expect(Date.parse(failing!.nextTry)).toBeGreaterThan(Date.parse(failing!.since))
  expect(await there.status()).toMatch(
    /5 events received, 4 waiting, 1 applied.*not applied +Cannot use .*the disk is full.*failing for .*; next try \d{4}-/s,
  )
  await there.send(1)
  await disk.free(home)
  await until(async () => (await there.applied()) === 6, { everyMs: CHECK_EVERY_MS })
  expect(await there.events()).toMatchObject({ received: 6, waiting: 0, failing: null })
  expect(drainer.process.exitCode).toBe(null)
}

describe.skipIf(noDisk)('storage that fails in watch mode', () => {
  it('is reported and retried until every event is in the tables', async () => {
    const there = await failingApp(['sync', '--watch', '1h', '--yes'], {})
    const said = there.drainer.said('Webhook events of ws wait in the spool')
    await expectRecovery(there)
    await said
    await there.drainer.said('ws: applying webhook events works again.')
  })
})

describe.skipIf(noDisk)('a full disk of the spool', () => {
  it('is reported, although nothing can be written to it, and its events are in the tables once there is space', async () => {
    const there = await failingApp(['sync', '--watch', '1h', '--yes'], {})
    const spool = join(there.home, 'spool')
    await there.send(1)
    await until(async () => (await there.applied()) === 1, { everyMs: CHECK_EVERY_MS })
    there.drainer.process.kill('SIGTERM')
    await there.drainer.ended
    await there.send(4)
    await until(async () => (await there.events()).waiting === 4, { everyMs: CHECK_EVERY_MS })
    await there.disk.fill(spool, 0)
    const drainer = there.begin()
    await drainer.said('Webhook events of ws wait in the spool')
    const { failing, ...counts } = await there.events()
    expect(counts).toMatchObject({ received: 5, waiting: 4, unreadableSegments: 0 })
    expect(failing).toMatchObject({ code: 'HOME_UNUSABLE', what: expect.stringMatching(/spool.*the disk is full/) })
    await there.disk.free(spool)
    await until(async () => (await there.applied()) === 5, { everyMs: CHECK_EVERY_MS })
    expect(await there.events()).toMatchObject({ received: 5, waiting: 0, failing: null })
  })
})

describe.skipIf(noDisk)('storage that fails under Temporal', () => {
  describeWithTemporal('with a separate server', ({ place, env }) => {
    let client: Client
    connected(place, opened => {
      client = opened
    })

    it('ends no workflow, is logged by the worker, and is retried until every event is in the tables', async () => {
      const there = await failingApp(['worker'], env)
      await there.drainer.said('worker (all) for ')
      const handle = client.workflow.getHandle(ingestId('ws'))
      const { runId } = await handle.describe()
      const said = there.drainer.said('webhook events wait in the spool')
      await expectRecovery(there)
      await said
      const { status, runId: running } = await handle.describe()
      expect([status.name, running]).toEqual(['RUNNING', runId])
      await handle.terminate()
    })
  })
})
