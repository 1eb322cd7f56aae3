// A Superset server, which tests start, and what the page about Superset has a user do there, over its REST API.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { until } from '../until.ts'
import { needed } from './lacking.ts'
import { page } from './pages.ts'
import { freePort } from './postgres-server.ts'
import type { PublishedScene } from './published-scene.ts'
import { PYTHON } from './python.ts'
import { SUPERSET_ADMIN, supersetSettings } from './superset.ts'

/** Starts Superset for the current test; returns a function that asks its API as the administrator. */
async function startSuperset(folder: string) {
  const program = needed(PYTHON.superset)
  await mkdir(folder)
  await copyFile(join(program, 'superset.db'), join(folder, 'superset.db'))
  const settings = join(folder, 'superset_config.py')
  await writeFile(settings, supersetSettings(folder))
  const port = String(await freePort())
  const env = { ...process.env, SUPERSET_CONFIG_PATH: settings }
  const words = ['run', '--host', '127.0.0.1', '--port', port, '--no-reload']
  const child = spawn(join(program, 'bin', 'superset'), words, { cwd: folder, env, stdio: 'ignore' })
  onTestFinished(async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close')
  })
  const address = `http://127.0.0.1:${port}`
  await until(async () => (await fetch(`${address}/health`).catch(() => null))?.ok === true, { everyMs: 200 })
  let token = ''
  return async function api<T>(method: 'GET' | 'POST', path: string, body?: object): Promise<T> {
    if (token === '' && path !== 'security/login') {
      const login = { ...SUPERSET_ADMIN, provider: 'db' }
      token = (await api<{ access_token: string }>('POST', 'security/login', login)).access_token
    }
    const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
    const response = await fetch(`${address}/api/v1/${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as T
  }
}

interface Chart {
  result: { data: Record<string, unknown>[] }[]
}

interface Dataset {
  result: { columns: { column_name: string; type: string; is_dttm: boolean }[]; main_dttm_col: string }
}

/**
 * Connects Superset to `address`, makes `conversations_daily` of the schema a dataset, and expects in its charts and in SQL Lab the figures
 * of the warehouse. @returns the types of the dataset's columns, and whether they are temporal
 */
export async function expectFiguresInSuperset(
  { home, query }: PublishedScene,
  { address, schema, marts = schema }: { address: string; schema: string; marts?: string },
): Promise<Record<string, [type: string, isTemporal: boolean]>> {
  const api = await startSuperset(join(home, 'superset'))
  const connection = { database_name: 'convohouse', sqlalchemy_uri: address, expose_in_sqllab: true }
  const { id: database } = await api<{ id: number }>('POST', 'database/', connection)
  const { result: schemas } = await api<{ result: string[] }>('GET', `database/${database}/schemas/`)
  expect(schemas).toContain(schema)

  const table = { database, schema, table_name: 'conversations_daily' }
  const { id: dataset } = await api<{ id: number }>('POST', 'dataset/', table)
  const { result } = await api<Dataset>('GET', `dataset/${dataset}`)
  expect(result.main_dttm_col).toBe('day')

  const [metric] = /sum\(csat_score_sum\)[^`]+/.exec(page('superset.md'))!
  const sql = (label: string, sqlExpression: string) => ({ expressionType: 'SQL', label, sqlExpression })
  const chart = (columns: unknown[], more: object = {}) =>
    api<Chart>('POST', 'chart/data', {
      datasource: { id: dataset, type: 'table' },
      queries: [{ columns, metrics: [sql('csat', metric), sql('n', 'sum(conversations)')], row_limit: 1000, ...more }],
    })
  const expected = await query<{ channel: string; csat: number | null; n: number }>(
    `SELECT channel, sum(csat_score_sum) / nullif(sum(csat_answers), 0) AS csat, sum(conversations)::INT AS n
     FROM marts.conversations_daily GROUP BY channel ORDER BY channel`,
  )
  const all = expected.reduce((sum, { n }) => sum + n, 0)
  expect(all).toBeGreaterThan(400)
  const [{ data }] = (await chart(['channel'])).result as [Chart['result'][number]]
  const rows = data.map(row => ({ ...row, csat: row.csat === null ? null : expect.closeTo(Number(row.csat), 9) }))
  expect(expected).toEqual(
    rows.sort((a, b) => String(Reflect.get(a, 'channel')).localeCompare(String(Reflect.get(b, 'channel')))),
  )

  // A chart over time, by weeks of the temporal column.
  const week = { ...sql('day', 'day'), columnType: 'BASE_AXIS', timeGrain: 'P1W' }
  const [weeks] = (await chart([week], { granularity: 'day', time_range: '2000-01-01 : 2100-01-01' })).result
  expect(weeks!.data.length).toBeGreaterThan(4)
  expect(weeks!.data.reduce((sum, { n }) => sum + Number(n), 0)).toBe(all)

  const question = {
    ...{ database_id: database, schema },
    sql: `SELECT count(*) AS n FROM ${marts}.fct_conversations WHERE is_counted`,
  }
  const { data: counted } = await api<{ data: unknown[] }>('POST', 'sqllab/execute/', question)
  expect(counted).toEqual([{ n: all }])
  return Object.fromEntries(result.columns.map(one => [one.column_name, [one.type, one.is_dttm]]))
}
