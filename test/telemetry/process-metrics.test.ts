// The metrics of long-running processes, as Prometheus collects them: over HTTP, from the built command.
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type Running, scene, start, TOKEN, temporaryFolder } from '../cli/cli-process.ts'
import { inProcess } from '../cli/in-process.ts'
import { describeWithPromtool } from '../promtool.ts'
import { telemetryPage } from '../telemetry-page.ts'
import { isDeep } from '../tier.ts'
import { until } from '../until.ts'
import { families, sampleOf, samples } from './scrape.ts'

const SECRET = 'whsec-canary-3391'
const ANY_PORT = ['--telemetry', '127.0.0.1:0']

/** Returns the metrics address that a process prints. */
async function metricsUrl({ process: child, said }: Running): Promise<string> {
  let text = ''
  child.stderr!.on('data', piece => {
    text += piece
  })
  child.stdout!.on('data', piece => {
    text += piece
  })
  return until(async () => {
    if (child.exitCode !== null) await said('metrics')
    return /http:\S+\/metrics/.exec(text)?.[0]
  })
}

const scrape = async (url: string): Promise<string> => (await fetch(url)).text()

/** Scrapes until the condition holds. */
async function scrapeUntil(url: string, holds: (text: string) => boolean): Promise<string> {
  const holding = async () => {
    const text = await scrape(url)
    return holds(text) && text
  }
  return until(holding, { everyMs: 200 })
}

interface Status {
  quota: { usedSessions: number }
  findings: { issues: number; quarantined: number }
  events: { waiting: number }
}

/** Returns a workspace with webhooks, and one whose vendor is unreachable. */
async function app() {
  const { sandbox } = await scene({ conversations: 40 })
  const folder = await temporaryFolder()
  const path = join(folder, 'convohouse.yaml')
  const workspace = { apiUrl: sandbox.url, resources: 'none', webhooks: { secrets: [{ env: 'HOOK' }] } }
  const config = {
    threads: 1,
    home: join(folder, 'data'),
    webhooks: { port: 0 },
    workspaces: [
      { ...workspace, id: 'ws_demo', token: { env: 'TOKEN' } },
      { id: 'ws_new', apiUrl: 'http://127.0.0.1:9', token: { env: 'TOKEN' } },
    ],
  }
  await writeFile(path, JSON.stringify(config))
  const begin = (...words: string[]) => start([...words, '--config', path], { env: { TOKEN, HOOK: SECRET } })
  const status = async () => {
    const args = ['status', '--json', '--workspace', 'ws_demo', '--config', path]
    const { stdout } = await inProcess(args, { env: { TOKEN, HOOK: SECRET } })
    return (JSON.parse(stdout) as { workspaces: Status[] }).workspaces[0]!
  }
  return { sandbox, begin, status }
}

const LABELS = [
  ...['workspace', 'webhooks', 'role', 'version', 'outcome', 'code', 'reason', 'store'],
  ...['target', 'type', 'kind', 'severity'],
]

const TELEMETRY = readFileSync(join(import.meta.dirname, '../../docs/telemetry.md'), 'utf8')
const documented = [...TELEMETRY.matchAll(/^\| `(convohouse_\w+)` \|/gm)].map(([, name]) => name!)

await describeWithPromtool('the metrics of a process', promtool => {
  it('report the state of each workspace, no matter which process is scraped', async () => {
    const { sandbox, begin, status } = await app()
    const watch = begin('sync', '--watch', '1h', '--yes', ...ANY_PORT)
    const receive = begin('receive')
    const [watchUrl, receiveUrl] = await Promise.all([metricsUrl(watch), metricsUrl(receive)])
    const demo = { workspace: 'ws_demo' }
    const body = { event: 'webhook_test', createdAt: Date.now(), message: 'hello', workspaceSecret: SECRET }
    expect((await fetch(new URL('/webhooks', receiveUrl), { method: 'POST', body: JSON.stringify(body) })).status).toBe(
      200,
    )

    const done = { ...demo, outcome: 'done' }
    const isDone = (text: string) =>
      sampleOf(text, 'convohouse_runs_total', done) === 1 &&
      sampleOf(text, 'convohouse_events_applied_total', demo) === 1 &&
      // This value comes from the warehouse, which may be busy.
      sampleOf(text, 'convohouse_quota_projected_sessions', demo) !== undefined
    for (const url of [watchUrl, receiveUrl]) {
      const text = await scrapeUntil(url, isDone)
      expect(await promtool.check(['check', 'metrics'], text)).toEqual({ code: 0, output: '' })
      expect(sampleOf(text, 'convohouse_workspace_info', { ...demo, webhooks: 'true' })).toBe(1)
      expect(sampleOf(text, 'convohouse_workspace_info', { workspace: 'ws_new', webhooks: 'false' })).toBe(1)
      // A sync reads up to two minutes before now (the default settle time).
      const age = sampleOf(text, 'convohouse_head_age_seconds', demo)!
      expect(age).toBeGreaterThan(100)
      expect(age).toBeLessThan(600)
      expect(Date.now() / 1_000 - sampleOf(text, 'convohouse_last_success_timestamp_seconds', demo)!).toBeLessThan(120)
      const { usage } = (await (await fetch(`${sandbox.url}/_sandbox/state`)).json()) as {
        usage: { billableUsedThisPeriod: number }
      }
      expect(sampleOf(text, 'convohouse_quota_used_sessions', demo)).toBe(usage.billableUsedThisPeriod)
      expect(sampleOf(text, 'convohouse_quota_included_sessions', demo)).toBe(50_000)
      expect(sampleOf(text, 'convohouse_quota_reserved_sessions', demo)).toBeGreaterThan(4_000)
      expect(sampleOf(text, 'convohouse_quota_projected_sessions', demo)).toBeGreaterThan(usage.billableUsedThisPeriod)
      expect(sampleOf(text, 'convohouse_requests_limit', demo)).toBe(1_500)
      expect(sampleOf(text, 'convohouse_requests_left', demo)).toBeLessThan(1_500)
      const { quota, findings, events } = await status()
      expect(sampleOf(text, 'convohouse_quota_used_sessions', demo)).toBe(quota.usedSessions)
      expect(sampleOf(text, 'convohouse_data_issues', demo)).toBe(findings.issues)
      expect(sampleOf(text, 'convohouse_quarantined_records', demo)).toBe(findings.quarantined)
      expect(sampleOf(text, 'convohouse_events_waiting', demo)).toBe(events.waiting)
      for (const store of ['landing', 'spool'])
        expect(sampleOf(text, 'convohouse_stored_bytes', { ...demo, store }), store).not.toBe(undefined)
      expect(sampleOf(text, 'convohouse_stored_bytes', { store: 'warehouse' })).toBeGreaterThan(100_000)
      expect(sampleOf(text, 'convohouse_disk_free_bytes')).toBeGreaterThan(1_000_000)
      // Nothing was ever read for the other workspace, and no age is better than a wrong one.
      expect(sampleOf(text, 'convohouse_head_age_seconds', { workspace: 'ws_new' })).toBe(undefined)
      expect([...families(text).keys()].filter(name => !documented.includes(name))).toEqual([])
      const labels = new Set(samples(text).flatMap(sample => Object.keys(sample.labels)))
      expect([...labels].filter(label => !LABELS.includes(label))).toEqual([])
      expect(text).not.toContain(TOKEN)
      expect(text).not.toContain(SECRET)
    }
    const page = await scrape(watchUrl)
    expect(sampleOf(page, 'convohouse_process_info', { role: 'watch' })).toBe(1)

    // When the process that holds the warehouse has ended, metrics from tables are absent; those from files remain.
    watch.process.kill('SIGINT')
    await watch.ended
    expect(sampleOf(await scrape(receiveUrl), 'convohouse_requests_limit', demo)).toBe(1_500)
    await sandbox.close()
  })

  it('at an address in use are an error that names it', async () => {
    const { begin, sandbox } = await app()
    await sandbox.close()
    const address = new URL(await metricsUrl(begin('receive'))).host
    for (const words of isDeep ? [['sync', '--watch', '1h'], ['up']] : [['sync', '--watch', '1h']]) {
      const { code, stderr } = await begin(...words, '--telemetry', address).ended
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining(`error ADDRESS_IN_USE: Another program listens on ${address}`),
      ])
    }
    const { code, stderr } = await inProcess(['sync', '--telemetry', address])
    expect([code, stderr]).toEqual([2, expect.stringContaining('--telemetry needs --watch')])
  })
})

it('docs/telemetry.md is current (`npm run docs`)', () => {
  const alerts = readFileSync(join(import.meta.dirname, '../../deploy/alerts.yml'), 'utf8')
  expect(TELEMETRY).toBe(telemetryPage(alerts))
})
