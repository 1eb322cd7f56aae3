// Storage that fails while events arrive: the worker keeps running, `status` reports the failure, and all events reach
// the tables after the storage is repaired, without a restart.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from '@temporalio/client'
import { describe, expect, it } from 'vitest'
import { ingestId } from '../../../src/run/temporal/worker/drain.ts'
import { cli, start, temporaryFolder } from '../../cli/cli-process.ts'
import { smallDisks, whyNoDisk } from '../../faults/disk/small-disk.ts'
import { connected, describeWithTemporal } from '../../run/temporal/with-temporal.ts'
import { isDeep } from '../../tier.ts'
import { until } from '../../until.ts'

const noDisk = whyNoDisk()
if (noDisk) console.warn(`skipped, storage that fails under events: ${noDisk}`)

const SECRET = 'canary-webhook-secret'
/** Interval of checks; it is not short, because each check starts a process. */
const CHECK_EVERY_MS = 1_000

interface EventsStatus {
  received: number
  applied: number
  waiting: number
  unreadableSegments: number
  failing: { code: string; what: string; attempts: number; nextTry: string; since: string } | null
}

/** Returns a receiver and a worker; the data folder and its spool are on separate small disks. */
async function failingApp(env: Record<string, string>) {
  const folder = await temporaryFolder()
  const home = join(folder, 'data')
  const disk = await smallDisks([home, join(home, 'spool')])
  const workspace = { id: 'ws', apiUrl: 'http://127.0.0.1:1', token: { env: 'T' } }
  const workspaces = [{ ...workspace, webhooks: { secrets: [{ env: 'S' }] } }]
  const temporal = { queues: `storage-${process.pid}` }
  const path = join(folder, 'convohouse.yaml')
  await writeFile(path, JSON.stringify({ home, threads: 1, webhooks: { port: 0 }, temporal, workspaces }))
  const options = { env: { T: 'none', S: SECRET, ...env }, through: disk.through }
  const receiver = start(['receive', '--json', '--config', path], options)
  const { url } = JSON.parse(await receiver.firstLine()) as { url: string }
  const status = async (...more: string[]) => (await cli(['status', ...more, '--config', path], options)).stdout
  const events = async (): Promise<EventsStatus> =>
    (JSON.parse(await status('--json')) as { workspaces: { events: EventsStatus }[] }).workspaces[0]!.events
  let sent = 0
  return {
    ...{ disk, home, status, events, worker: start(['worker', '--config', path], options) },
    isApplied: (count: number) => until(async () => (await events()).applied === count, { everyMs: CHECK_EVERY_MS }),
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

/** `npm test` proves the retries in `test/steps/drain.test.ts`. */
describe.runIf(isDeep && !noDisk)('storage that fails under Temporal', () => {
  describeWithTemporal('with a separate server', ({ place, env }) => {
    let client: Client
    connected(place, opened => {
      client = opened
    })

    it('ends no workflow, is logged by the worker, and is retried until every event is in the tables', async () => {
      const { disk, home, worker, send, events, status, isApplied } = await failingApp(env)
      await worker.said('worker (all) for ')
      const handle = client.workflow.getHandle(ingestId('ws'))
      const { runId } = await handle.describe()
      await send(1)
      await isApplied(1)
      // The disk of the warehouse is full; that of the spool is not.
      await disk.fill(home, 0)
      await send(4)
      await worker.said('webhook events wait in the spool')
      const { failing, ...counts } = await events()
      expect(counts).toMatchObject({ received: 5, waiting: 4, unreadableSegments: 0 })
      expect(failing).toMatchObject({
        code: 'HOME_UNUSABLE',
        what: expect.stringMatching(/warehouse.*the disk is full/),
      })
      expect(Date.parse(failing!.nextTry)).toBeGreaterThan(Date.parse(failing!.since))
      expect(await status()).toMatch(
        /5 events received, 4 waiting, 1 applied.*not applied +Cannot use .*the disk is full.*failing for .*; next try \d{4}-/s,
      )
      await send(1)
      await disk.free(home)
      await worker.said('applying webhook events works again')
      await isApplied(6)
      expect(await events()).toMatchObject({ received: 6, waiting: 0, failing: null })
      expect(worker.process.exitCode).toBe(null)
      const { status: is, runId: running } = await handle.describe()
      expect([is.name, running]).toEqual(['RUNNING', runId])
      await handle.terminate()
    })
  })
})
