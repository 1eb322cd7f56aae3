// Webhook events while somebody syncs: in SQL within seconds, whoever runs the orchestration.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from '@temporalio/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ingestId } from '../../src/run/temporal/worker/drain.ts'
import { openSpool } from '../../src/spool/spool.ts'
import { cli, type Running, start } from '../cli/cli-process.ts'
import { connected, describeWithTemporal } from '../run/temporal/with-temporal.ts'
import { spoolEvent } from '../spool/arbitrary-events.ts'
import { until } from '../until.ts'
import { payloadTexts } from './history.ts'
import { elsewhere, scene, TOKEN } from './scene.ts'

const SECRET = 'canary-webhook-secret'
/** Each look is a process. */
const LOOK_MS = 700

async function app(more: Record<string, string> = {}) {
  const { sandbox, config } = await scene(elsewhere)
  const { home, temporal } = config
  const path = join(home, 'convohouse.yaml')
  const workspace = {
    id: 'ws_demo',
    apiUrl: sandbox.url,
    token: { env: 'WORKER_TOKEN' },
    webhooks: { secrets: [{ env: 'HOOK_SECRET' }] },
  }
  const settings = { home, threads: 1, webhooks: { port: 0 }, temporal: { queues: temporal.queues } }
  await writeFile(path, JSON.stringify({ ...settings, workspaces: [workspace] }))
  const options = { env: { WORKER_TOKEN: TOKEN, HOOK_SECRET: SECRET, ...more } }
  const run = (...args: string[]) => cli([...args, '--config', path], options)
  return {
    home,
    begin: (...args: string[]) => start([...args, '--config', path], options),
    run,
    async query<R>(sql: string): Promise<R[]> {
      const { code, stdout } = await run('query', sql, '--format', 'json')
      return code === 0 ? (JSON.parse(stdout) as R[]) : []
    },
  }
}

type House = Awaited<ReturnType<typeof app>>

/** Where it waits for events. */
async function receiverOf(running: Running): Promise<string> {
  let said = ''
  for (const stream of [running.process.stdout!, running.process.stderr!])
    stream.on('data', text => {
      said += text
    })
  const address = /at (http:\S+\/webhooks)/
  await until(async () => address.test(said))
  return address.exec(said)![1]!
}

const post = async (url: string, payload: object): Promise<number> => {
  const body = JSON.stringify({ ...payload, workspaceSecret: SECRET })
  return (await fetch(url, { method: 'POST', body })).status
}

/** A conversation that is held is told to have changed, and to have been said something in. */
async function expectSeen(there: House, url: string): Promise<void> {
  const held = () =>
    there.query<{ agentId: string; convoId: string }>(
      'SELECT agent_id AS "agentId", conversation_id AS "convoId" FROM conversations WHERE _complete ORDER BY ALL LIMIT 1',
    )
  await until(async () => (await held()).length > 0, { everyMs: LOOK_MS })
  const [conversation] = await held()
  const common = { ...conversation, createdAt: Date.now() }
  const lightConvoData = { state: 'told-by-event' }
  expect(
    await post(url, {
      event: 'conversation_updated',
      ...common,
      lightConvoData,
      turns: [{ role: 'user', text: 'hi' }],
    }),
  ).toBe(200)
  expect(await post(url, { event: 'message_received', ...common, messageContent: 'hi', channel: 'webchat' })).toBe(200)
  const seen = `SELECT c.state, t.text, m.message_content AS content FROM conversations c
    JOIN conversation_turns t USING (agent_id, conversation_id) JOIN messages_received m USING (agent_id, conversation_id)`
  await until(async () => (await there.query(seen)).length > 0, { everyMs: LOOK_MS })
  expect(await there.query(seen)).toEqual([{ state: 'told-by-event', text: 'hi', content: 'hi' }])
}

async function ended(running: Running, there: House): Promise<void> {
  running.process.kill('SIGINT')
  const { stderr } = await running.ended
  expect(stderr).toMatch(/^(\S+Z )?ws_demo: \d events? in, \d waiting, \d applied$/m)
  const { stdout } = await there.run('status')
  expect(stdout).toContain('2 events in, 0 waiting, 2 applied; 1 conversation changed since exported')
  expect(stdout).toMatch(/event +message_received: 1, last /)
}

describe('events beside the embedded engine', () => {
  it('are seen while it watches', async () => {
    const there = await app()
    const receiver = there.begin('receive')
    const url = await receiverOf(receiver)
    const watch = there.begin('sync', '--watch', '1h', '--yes')
    await expectSeen(there, url)
    await ended(watch, there)
  })

  it('are applied by the next sync where nobody drained', async () => {
    const there = await app()
    const url = await receiverOf(there.begin('receive'))
    expect(await post(url, { event: 'webhook_test', createdAt: Date.now(), message: 'hello' })).toBe(200)
    await until(async () => (await there.run('status')).stdout.includes('1 event in, 1 waiting, 0 applied'), {
      everyMs: LOOK_MS,
    })
    expect((await there.run('sync', '--yes')).code).toBe(0)
    expect(await there.query('SELECT type FROM webhook_events')).toEqual([{ type: 'webhook_test' }])
  })

  it('are applied by a sync that would have ended before their segment is sealed', async () => {
    const there = await app()
    const spool = openSpool({ home: there.home, now: Date.now, sealAfterMs: 3_000 })
    onTestFinished(() => spool.close())
    await spool.append(spoolEvent({ createdAt: Date.now(), text: 'hello' }, 'ws_demo'))
    const { code, stdout } = await there.run('sync', '--yes')
    expect(code).toBe(0)
    expect(stdout).toContain('webhooks: 1 event in, 0 waiting, 1 applied')
    expect(await there.query('SELECT count(*)::INTEGER AS n FROM webhook_events')).toEqual([{ n: 1 }])
  })
})

describeWithTemporal('events under Temporal', ({ place, env }) => {
  let client: Client
  connected(place, opened => {
    client = opened
  })

  it('are drained by a workflow of their own, whose history holds nothing of them', async () => {
    const there = await app(env)
    const running = there.begin('up', '--every', '1h')
    await expectSeen(there, await receiverOf(running))
    const handle = client.workflow.getHandle(ingestId('ws_demo'))
    await ended(running, there)
    // What was drained it has counted, and knows nothing else of it.
    const told = payloadTexts(await handle.fetchHistory()).join('\n')
    expect(told).toContain('"events":2')
    for (const text of [SECRET, TOKEN, 'told-by-event', 'message_received']) expect(told).not.toContain(text)
  })
})
