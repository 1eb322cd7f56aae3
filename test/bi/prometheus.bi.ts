// The dashboard of the pipeline, asked of a real Prometheus that scrapes a real process.
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { scene, start } from '../cli/cli-process.ts'
import { queryPanels, readDashboard } from '../publish/grafana-dashboards.ts'
import { TOKEN_ENV } from '../scene.ts'
import { until } from '../until.ts'
import { needed } from './lacking.ts'
import { freePort } from './postgres-server.ts'
import { PROMETHEUS } from './prometheus.ts'

/** A process that syncs, publishes and serves metrics. */
async function watching(): Promise<number> {
  const { home, env, sandbox } = await scene({ conversations: 100, traffic: true }, { resources: 'all' })
  const config = join(home, '..', 'watch.yaml')
  const workspace = { id: 'ws_demo', apiUrl: sandbox.url, token: { env: 'CONVOHOUSE_API_TOKEN' } }
  const targets = [{ name: 'dashboards', type: 'snapshot' }]
  await writeFile(config, JSON.stringify({ home, threads: 1, targets, workspaces: [workspace] }))
  const port = await freePort()
  const own = { ...TOKEN_ENV, CONVOHOUSE_HOME: env.CONVOHOUSE_HOME! }
  start(['sync', '--watch', '15m', '--config', config, '--metrics', `127.0.0.1:${port}`], { env: own })
  return port
}

/** Prometheus's address. */
async function prometheusOf(scraped: number): Promise<string> {
  const program = join(needed(PROMETHEUS), 'package', 'usr', 'bin', 'prometheus')
  const folder = await mkdtemp(join(tmpdir(), 'convohouse-prometheus-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const config = join(folder, 'prometheus.yml')
  const job = { job_name: 'convohouse', static_configs: [{ targets: [`127.0.0.1:${scraped}`] }] }
  await writeFile(config, stringify({ global: { scrape_interval: '1s' }, scrape_configs: [job] }))
  const address = `127.0.0.1:${await freePort()}`
  const words = [`--config.file=${config}`, `--storage.tsdb.path=${folder}/data`, `--web.listen-address=${address}`]
  const child = spawn(program, words, { cwd: folder, stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  return `http://${address}`
}

it('every panel of the pipeline has series, but failures that have not happened', async () => {
  const dashboard = readDashboard('pipeline')
  needed(PROMETHEUS)
  const url = await prometheusOf(await watching())
  const api = async <T>(path: string): Promise<T> => {
    const response = await fetch(`${url}/api/v1/${path}`)
    const { status, data, error } = (await response.json()) as { status: string; data: T; error?: string }
    if (status !== 'success') throw new Error(error)
    return data
  }
  const series = async (expr: string): Promise<number> => {
    const plain = expr.replaceAll('$__rate_interval', '30s').replace(/\$\w+/g, '.*')
    return (await api<{ result: unknown[] }>(`query?query=${encodeURIComponent(plain)}`)).result.length
  }
  /** Queries without series, by their panels. */
  const missing = async (): Promise<string[]> => {
    const found: string[] = []
    for (const { title, targets } of queryPanels(dashboard))
      for (const { expr, refId } of targets!) if ((await series(expr!)) === 0) found.push(`${title} ${refId}`)
    return found
  }
  await until(async () => (await fetch(`${url}/-/ready`).catch(() => null))?.ok === true)
  // Quota that lasts, and a first publication, take a few scrapes.
  let last: string[] = []
  await until(
    async () => {
      last = await missing()
      return last.length <= 1
    },
    { everyMs: 1_000 },
  ).catch(() => {})
  expect(last).toEqual(['Failed publications since the last success A'])
  for (const { type, name, query } of dashboard.templating.list) {
    if (type !== 'query' || typeof query === 'string') continue
    const [, metric] = /^label_values\((\w+), (\w+)\)$/.exec(query.query)!
    const values = await api<string[]>(`label/${name}/values?match[]=${metric}`)
    expect(values).toEqual([name === 'workspace' ? 'ws_demo' : 'dashboards'])
  }
}, 300_000)
