// Webhook events that arrive between the syncs of the embedded host: visible in SQL after the next one.
import { expect, it, onTestFinished } from 'vitest'
import { openSpool } from '../../src/spool/spool.ts'
import { faultScene } from '../faults/scene.ts'
import { spoolEvent } from '../spool/arbitrary-events.ts'

const SEEN = `SELECT c.state, t.text, m.message_content AS content FROM conversations c
  JOIN conversation_turns t USING (agent_id, conversation_id) JOIN messages_received m USING (agent_id, conversation_id)`

it('events for a stored conversation are applied by the next sync, even if their segment is not sealed yet', async () => {
  const scene = await faultScene({ sandbox: { conversations: 20 } })
  const query = async (sql: string) =>
    JSON.parse((await scene.run(['query', sql, '--format', 'json'])).stdout) as Record<string, string>[]
  expect((await scene.run(['sync', '--yes'])).code).toBe(0)
  const [conversation] = await query(
    'SELECT agent_id AS "agentId", conversation_id AS "convoId" FROM conversations ORDER BY ALL LIMIT 1',
  )
  const spool = openSpool({ home: scene.home, now: Date.now, sealAfterMs: 3_000 })
  onTestFinished(() => spool.close())
  const send = (event: string, payload: object) =>
    spool.append(spoolEvent({ event, ...conversation, createdAt: Date.now(), ...payload }, 'ws_demo', Date.now()))
  const turns = [{ role: 'user', text: 'hi' }]
  await send('conversation_updated', { lightConvoData: { state: 'from-event' }, turns })
  await send('message_received', { messageContent: 'hi', channel: 'webchat' })
  const { code, stdout } = await scene.run(['sync', '--yes'])
  expect(code).toBe(0)
  expect(stdout).toContain('webhooks: 2 events received, 0 waiting, 2 applied')
  expect(await query(SEEN)).toEqual([{ state: 'from-event', text: 'hi', content: 'hi' }])
  // The events were applied after the sync had refreshed the marts.
  expect(await query(`SELECT text FROM marts.fct_turns`)).toEqual([{ text: 'hi' }])
  const status = (await scene.run(['status'])).stdout
  expect(status).toContain('2 events received, 0 waiting, 2 applied; 1 conversation changed since exported')
  expect(status).toMatch(/event +message_received: 1, last /)
})
