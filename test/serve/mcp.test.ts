// An assistant asks through the official client: what it sees by scope, what it is told, and what it cannot do.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, it, onTestFinished } from 'vitest'
import { METRICS } from '../../src/metrics/all-metrics.ts'
import type { Scope } from '../../src/serve/access/tokens.ts'
import { rowsIn } from '../publish/published.ts'
import { bearer, send, served, tokenFor } from './served.ts'

const at = served()
const YEARS = { from: '2024-01-01', to: '2026-12-31' }

async function assistant(...scopes: Scope[]): Promise<Client> {
  const headers = bearer(await tokenFor(at.tokens, ...scopes))
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${at.running.url}/mcp`), { requestInit: { headers } }),
  )
  onTestFinished(() => client.close())
  return client
}

async function call(client: Client, name: string, given: Record<string, unknown> = {}) {
  const { content, isError } = await client.callTool({ name, arguments: given })
  const texts = (content as { text: string }[]).map(({ text }) => text)
  // biome-ignore lint/suspicious/noExplicitAny: answers have many forms
  return { json: JSON.parse(texts.at(-1)!) as any, before: texts.slice(0, -1).join(), isError: isError ?? false }
}

it('a token sees the tools of its scopes only', async () => {
  const toolsOf = async (...scopes: Scope[]) => {
    const { tools } = await (await assistant(...scopes)).listTools()
    return tools.map(({ name }) => name).sort()
  }
  expect(await toolsOf('metrics')).toEqual(['describe_table', 'list_metrics', 'query_metrics'])
  expect(await toolsOf('sql')).toEqual(['describe_table', 'query'])
  expect(await toolsOf('content')).toEqual(['conversation'])
  expect(await toolsOf('metrics', 'sql', 'content')).toHaveLength(5)
  const asked = (await assistant('metrics')).callTool({ name: 'query', arguments: { sql: 'SELECT 1' } })
  await expect(asked).rejects.toThrow(/query/)
})

it('answers are the published figures, with as-of, SQL and what limits them', async () => {
  const client = await assistant('metrics', 'sql', 'content')
  const period = { from: '0001-01-01', to: '9999-12-31' }
  const [[count]] = (await rowsIn(
    at.path,
    'SELECT count(*)::INTEGER FROM marts.fct_conversations WHERE is_counted',
  )) as [[number]]
  const { json } = await call(client, 'query_metrics', { metrics: ['conversations'], period })
  expect(json.metrics[0].series.at(-1).total).toMatchObject({ value: count, n: count, isCovered: false })
  expect([json.metrics[0].sql, json.asOf]).toEqual([expect.stringContaining('SELECT'), expect.any(String)])
  expect((await call(client, 'list_metrics')).json.metrics).toHaveLength(METRICS.length)
  const { columns } = (await call(client, 'describe_table', { table: 'marts.fct_csat' })).json
  expect(columns.length).toBeGreaterThan(5)
  const cut = await call(client, 'query', { sql: 'FROM range(1000)' })
  expect(cut.json).toMatchObject({ count: 200, truncated: true })
  for (const [name, given, code] of [
    ['query', { sql: "COPY conversations TO '/tmp/x.csv'" }, 'SQL_REFUSED'],
    ['query', { sql: "FROM read_csv('/etc/passwd')" }, 'SQL_REFUSED'],
    ['query', { sql: 'SELECT nothing' }, 'SQL_INVALID'],
    ['query', { sql: "SELECT repeat('x', 300_000) FROM range(4)" }, 'QUERY_MEMORY'],
    ['query_metrics', { metrics: ['revenue'], period }, 'METRIC_UNKNOWN'],
    ['query_metrics', { metrics: Array(20).fill('conversations'), period: YEARS, grain: 'day' }, 'QUERY_MEMORY'],
    ['describe_table', { table: 'secrets' }, 'FLAG_INVALID'],
    ['conversation', { workspace: 'w', agent: 'a', id: 'none' }, 'CONVERSATION_UNKNOWN'],
  ] as const) {
    const refused = await call(client, name, given)
    expect([name, refused.json.error.code, refused.isError]).toEqual([name, code, true])
  }
})

it('a page of another site, or a request without a token, reaches no tool', async () => {
  const headers = { ...bearer(await tokenFor(at.tokens, 'sql')), Origin: 'https://evil.example' }
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
  expect((await send(at.running, '/mcp', { method: 'POST', headers, body })).json.error.code).toBe('REQUEST_REFUSED')
  expect((await send(at.running, '/mcp', { method: 'POST', body })).status).toBe(401)
})
