// Customer data is kept although its field names look like secrets: from an export and from events, through receiver, spool and
// replay.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { archivedEvent } from '../../src/spool/read-archive.ts'
import { start, TOKEN, temporaryFolder } from './cli-process.ts'
import { inProcess, rowsOf } from './in-process.ts'

const SECRET = 'whsec-canary-5521'
const AGENT = 'agent_1'
const NOW_MS = Date.now()
const CREATED_MS = NOW_MS - 3 * 86_400_000

const FIELDS = {
  capturedVariables: { discount_token: 'SAVE20', secret_santa: 'Eve', plan: 'pro' },
  metrics: [{ key: 'password_reset_asked', value: 'twice' }],
  tokenUsage: { cumulativeInputTokens: 12, cumulativeTotalTokens: 15, lastTurnModelId: 'gpt-4o' },
}
const RECORD = {
  ID: 'c1',
  ts: CREATED_MS,
  lastModified: CREATED_MS,
  firstMessageTS: CREATED_MS,
  lastMessageTS: CREATED_MS,
  userName: 'Eve',
  summary: 'Asked for her password: Bearer abc123456',
  externalSession: { sessionKey: 'session-1' },
  ...FIELDS,
}
const QUESTION = 'Password reset needed?'
const TURNS = [
  { role: 'user', text: 'My key is sk-live-0123456789abcdef', ts: CREATED_MS },
  {
    role: 'assistant',
    text: 'Done',
    ts: CREATED_MS + 1,
    toolCalls: [{ name: 'reset', args: { token: 'T-1', password: 'new' } }],
  },
]

/** A vendor with one conversation. */
async function vendor(): Promise<string> {
  const inMs = (text: string | null) => (text === null ? null : Number(text) * (Number(text) < 1e11 ? 1_000 : 1))
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://vendor')
    const send = (body: object): void => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    if (pathname === '/v3/agents/search')
      return send({ agents: [{ ID: AGENT, title: 'Ada' }], starredAgents: [], hasMore: false, total: 1 })
    if (/\/(tools|variables)$/.test(pathname)) return send({ data: [] })
    const [from, to] = [inMs(searchParams.get('fromTs')), inMs(searchParams.get('toTs'))]
    const within = (from === null || CREATED_MS >= from) && (to === null || CREATED_MS <= to)
    const data = within ? [RECORD] : []
    const usage = {
      periodKey: 'p1',
      billableUsedThisRequest: data.length,
      billableUsedThisPeriod: 1,
      includedQuota: 50_000,
    }
    send({
      success: true,
      data,
      usage: { ...usage, billableRemainingThisPeriod: 49_999, overageUsedThisPeriod: 0, overagePacksCharged: 0 },
      rateLimit: { requestsPerHour: 1_500, remainingHour: 1_400 },
      hasMore: false,
      nextCursor: null,
      limit: Number(searchParams.get('limit') ?? 20),
      mode: 'paginated',
      scannedConvoCount: data.length,
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

it('form answers, variables, turns and metrics with any names are kept, from exports and events, also after a replay', async () => {
  const env = {
    CONVOHOUSE_API_URL: await vendor(),
    CONVOHOUSE_API_TOKEN: TOKEN,
    CONVOHOUSE_WORKSPACE: 'ws_demo',
    CONVOHOUSE_HOME: join(await temporaryFolder(), 'data'),
    CONVOHOUSE_WEBHOOK_SECRET: SECRET,
  }
  const sync = async () => {
    const { code, stderr, stdout } = await inProcess(['sync'], { env })
    expect([code, stderr]).toEqual([0, expect.anything()])
    return stdout
  }
  const exported = () =>
    Promise.all(
      [
        'SELECT captured_variables, metrics, token_usage_cumulative_input_tokens, token_usage_cumulative_total_tokens, token_usage_last_turn_model_id, user_name, summary, external_session_session_key FROM conversations',
        "SELECT COLUMNS(c -> c NOT IN ('_record', '_loaded_at', '_version', '_as_of', '_fetched_at')) FROM conversation_captured_variables ORDER BY ALL",
        "SELECT COLUMNS(c -> c NOT IN ('_record', '_loaded_at', '_version', '_as_of', '_fetched_at')) FROM conversation_metrics ORDER BY ALL",
      ].map(sql => rowsOf(sql, env)),
    )
  await sync()
  const before = await exported()
  expect(JSON.stringify(before)).toContain('SAVE20')
  expect(JSON.stringify(before)).toContain('twice')

  const running = start(['receive', '--port', '0', '--json'], { env })
  const line = await new Promise<string>(resolve => running.process.stdout!.once('data', text => resolve(String(text))))
  const { url } = JSON.parse(line)
  const conversation = { agentId: AGENT, agentName: 'Ada', convoId: 'c1', createdAt: NOW_MS, workspaceSecret: SECRET }
  const { ID, ts: _, ...light } = RECORD
  const updated = {
    event: 'conversation_updated',
    ...conversation,
    operation: 'updated',
    lightConvoData: { ...light, lastModified: NOW_MS - 1_000 },
    turns: TURNS,
    messagesHistory: [{ role: 'user', content: 'password: hunter2', secret: 's' }],
  }
  const form = {
    event: 'form_submitted',
    ...conversation,
    formType: 'ui_engine_form',
    formData: { [QUESTION]: 'yes', discount_token: 'SAVE20' },
  }
  const message = { event: 'message_received', ...conversation, messageContent: 'https://me:pw@example.com/?token=1' }
  // Each event once for the fast parser, and once with a number beyond a double, which needs the exact parser.
  const bodies = [updated, form, message].flatMap(event => [
    JSON.stringify(event),
    JSON.stringify({ ...event, createdAt: event.createdAt + 1 }).replace(/\}$/, ',"odd":12345678901234567890}'),
  ])
  for (const body of bodies) expect((await fetch(`${url}/webhooks`, { method: 'POST', body })).status).toBe(200)
  running.process.kill('SIGTERM')
  await running.ended
  // The report counts events once they are loaded, not when their load starts.
  expect(await sync()).toContain(`webhooks: ${bodies.length} events received, 0 waiting, ${bodies.length} applied`)

  const events = () =>
    Promise.all(
      [
        'SELECT DISTINCT question, answer FROM form_submission_answers ORDER BY ALL',
        'SELECT role, text, epoch_ms(written_at)::DOUBLE AS ts, extra FROM conversation_turns ORDER BY position',
        'SELECT role, text, extra FROM conversation_model_messages',
        'SELECT DISTINCT message_content FROM messages_received',
        'SELECT payload_file AS file, payload_offset AS place, removed FROM webhook_events ORDER BY event_id',
      ].map(sql => rowsOf(sql, env)),
    )
  const live = await events()
  const json = (value: unknown) => (typeof value === 'string' ? JSON.parse(value) : value)
  expect(live[0]).toEqual([
    { question: QUESTION, answer: 'yes' },
    { question: 'discount_token', answer: 'SAVE20' },
  ])
  const sent = live[1]!.map(({ extra, ...columns }) => ({ ...columns, ...(extra === null ? {} : json(extra)) }))
  expect(sent).toEqual(TURNS)
  const [history] = live[2]!
  expect([history!.role, history!.text, json(history!.extra)]).toEqual(['user', 'password: hunter2', { secret: 's' }])
  expect(live[3]).toEqual([{ message_content: message.messageContent }])
  expect(live[4]).toHaveLength(6)
  for (const { file, place, removed } of live[4]!) {
    const { payload: bytes } = await archivedEvent(env.CONVOHOUSE_HOME, { file: String(file), offset: Number(place) })
    const payload = Buffer.from(bytes).toString()
    const { workspaceSecret: _, ...sent } = [updated, form, message].find(({ event }) => json(payload).event === event)!
    expect({ ...json(payload), createdAt: NOW_MS, odd: 0 }).toEqual({ ...sent, odd: 0 })
    expect(removed).toBeNull()
  }
  expect(await exported()).toEqual(before)
  expect(await rowsOf('SELECT * FROM _issues', env)).toEqual([])

  expect((await inProcess(['replay'], { env })).code).toBe(0)
  expect(await exported()).toEqual(before)
  expect(await events()).toEqual(live)
})
