// Storage that fails while events arrive: the host keeps running, `status` reports the failure, and all events reach the tables
// after the storage is repaired, without a restart.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from '@temporalio/client'
import { describe, expect, it } from 'vitest'
import { ingestId } from '../../../src/run/temporal/worker/drain.ts'
import { cli, start, temporaryFolder } from '../../cli/cli-process.ts'
import { smallDisks, whyNoDisk } from '../../faults/disk/small-disk.ts'
import { connected, describeWithTemporal } from '../../run/temporal/with-temporal.ts'
import { until } from '../../until.ts'

const noDisk = whyNoDisk()
if (noDisk) console.warn(`skipped, storage that fails under events: ${noDisk}`)

const SECRET = 'canary-webhook-secret'
/** Interval of checks; not short, because each check starts a process. */
const CHECK_EVERY_MS = 1_000

interface EventsStatus {
  received: number
  applied: number
  waiting: number
  unreadableSegments: number
  failing: { code: string; what: string; attempts: number; nextTry: string; since: string } | null
}

/** A receiver, and a process that applies events (command `begin`); the data folder and its spool are on separate small disks. */
async function failingApp(begin: string[], env: Record<string, string>) {
  const folder = await temporaryFolder()
  const home = join(folder, 'data')
  const disk = await smallDisks([home, join(home, 'spool')])
  const workspace = {
    id: 'ws',
    apiUrl: 'http://127.0.0.1:1',
    token: { env: 'T' },
    webhooks: { secrets: [{ env: 'S' }] },
  }
  const temporal = { queues: `storage-${process.pid}-${begin[0]}` }
  const path = join(folder, 'convohouse.yaml')
  await writeFile(path, JSON.stringify({ home, threads: 1, webhooks: { port: 0 }, temporal, workspaces: [workspace] }))
  const options = { env: { T: 'none', S: SECRET, ...env }, through: disk.through }
  const receiver = start(['receive', '--json', '--config', path], options)
  const { url } = JSON.parse(await receiver.firstLine()) as { url: string }
  const status = async (...more: string[]) => (await cli(['status', ...more, '--config', path], options)).stdout
  let sent = 0
  return {
    disk,
    home,
    drainer: start([...begin, '--config', path], options),
    status,
    async events(): Promise<EventsStatus> {
      return (JSON.parse(await status('--json')) as { workspaces: { events: EventsStatus }[] }).workspaces[0]!.events
    },
    /** Sends this many large events and expects an acknowledgement of each. */
    async send(many: number) {
      for (let left = many; left > 0; left--) {
        const message = { agentId: 'a', convoId: 'c', messageContent: 'x'.repeat(50_000) }
        const event = { event: 'message_received', createdAt: Date.now() + sent++, ...message }
        const body = JSON.stringify({ ...event, workspaceSecret: SECRET })
        expect((await fetch(`${url}/webhooks`, { method: 'POST', body })).status).toBe(200)
      }
    },
  }
}

type FailingApp = Awaited<ReturnType<typeof failingApp>>

/** Fills the warehouse's disk, but not the spool's, while events arrive; expects all events in the tables after space is freed. */
async function expectRecovery(there: FailingApp): Promise<void> {
  const { disk, home, drainer } = there
  await there.send(1)
  await until(async () => (await there.events()).applied === 1, { everyMs: CHECK_EVERY_MS })
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
  await until(async () => (await there.events()).applied === 6, { everyMs: CHECK_EVERY_MS })
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
