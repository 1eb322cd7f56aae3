// The example alerts about Temporal: workers really export each metric that the rules use, with the labels that the rules match.
import { readFileSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { PLAIN_SYNC } from '../../src/run/embedded.ts'
import { connectClient } from '../../src/run/temporal/client/connection.ts'
import { askForSync } from '../../src/run/temporal/client/owner.ts'
import { startDevServer } from '../../src/run/temporal/server/dev-server.ts'
import { whileSlowed } from '../cli/delayed-vendor.ts'
import { installRelease } from '../contract/releases.ts'
import { elsewhere, scene, WORKSPACE } from '../contract/scene.ts'
import { workerProcess, writeConfig } from '../contract/workers/worker-process.ts'
import { describeWithTemporal } from '../run/temporal/with-temporal.ts'
import { until } from '../until.ts'
import { ROOT } from './dockerfile.ts'

interface Rules {
  groups: { name: string; rules: { alert: string; expr: string; annotations: { summary: string } }[] }[]
}

const { groups } = parse(readFileSync(join(ROOT, 'deploy/alerts.yml'), 'utf8')) as Rules
const { rules } = groups.find(({ name }) => name === 'convohouse-temporal')!

interface UsedMetric {
  metric: string
  labels: [name: string, equal: boolean, value: string][]
}

/** The metrics in an expression, with their labels. */
const metricsIn = (expr: string): UsedMetric[] =>
  [...expr.matchAll(/(temporal_\w+)(?:\{([^}]*)\})?/g)].map(([, metric, labels = '']) => ({
    metric: metric!,
    labels: [...labels.matchAll(/(\w+)(=~|=)"([^"]*)"/g)].map(([, name, sign, value]) => [name!, sign === '=', value!]),
  }))

/** Whether a worker has served a sample of this metric with these labels. */
function isServed({ metric, labels }: UsedMetric, served: string): boolean {
  const fits = (line: string) =>
    labels.every(([name, equal, value]) => {
      const has = new RegExp(`[{,]${name}="([^"]*)"`).exec(line)?.[1]
      return has !== undefined && (equal ? has === value : new RegExp(`^(?:${value})$`).test(has))
    })
  return served.split('\n').some(line => line.startsWith(`${metric}{`) && fits(line))
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  return port
}

describeWithTemporal('the example alerts', ({ command }) => {
  it('use only metrics that workers export', async () => {
    const server = await startDevServer({ command })
    onTestFinished(() => server.stop())
    const client = await connectClient({ address: server.address })
    onTestFinished(() => client.connection.close())
    const there = await scene(elsewhere)
    const path = await writeConfig(there.config, '2m', { timeout: '60s' })
    const worker = async (main?: string) => {
      const metrics = `127.0.0.1:${await freePort()}`
      const more = ['--metrics', metrics]
      const options = { place: { address: server.address, namespace: 'default' }, path, role: 'all' as const, more }
      const running = await workerProcess({ ...options, ...(main !== undefined && { main }) })
      return { running, metrics: async () => (await fetch(`http://${metrics}/metrics`)).text() }
    }
    const ask = async () => {
      const request = { ...PLAIN_SYNC, workspaceId: WORKSPACE }
      return (await askForSync(client, { queues: there.config.temporal.queues, request })).handle
    }

    // A sync that completes, and one that fails because its landing is not a folder.
    const first = await worker()
    await (await ask()).result()
    const landing = join(there.config.home, 'landing')
    const id = await readFile(join(landing, '.id'))
    await rm(landing, { recursive: true })
    await writeFile(landing, '')
    await expect((await ask()).result()).rejects.toThrow()
    await rm(landing)
    await mkdir(landing)
    await writeFile(join(landing, '.id'), id)
    // A workflow that an incompatible release cannot continue.
    const pending = await whileSlowed(there.sandbox, async () => {
      const handle = await ask()
      await handle.executeUpdate('pause')
      return handle
    })
    const scrapes = [await first.metrics()]
    first.running.process.kill('SIGTERM')
    await first.running.ended
    const second = await worker((await installRelease('careless')).main)
    // The workflow may be idle when the first worker ends: then only an update gives the second worker a task.
    pending.executeUpdate('resume').catch(() => {})
    await until(async () => (await second.metrics()).includes('temporal_workflow_task_execution_failed'), {
      everyMs: 100,
    })
    await pending.terminate()
    // Requests that fail for lack of a server.
    await server.stop()
    await until(async () => (await second.metrics()).includes('temporal_long_request_failure'), { everyMs: 100 })
    scrapes.push(await second.metrics())

    const used = rules.flatMap(({ expr }) => metricsIn(expr))
    expect(used.length).toBeGreaterThanOrEqual(rules.length)
    expect(used.filter(one => !isServed(one, scrapes.join('\n')))).toEqual([])
    expect(
      isServed({ metric: 'temporal_workflow_failed', labels: [['workflow_type', true, 'other']] }, scrapes[0]!),
    ).toBe(false)
    second.running.process.kill('SIGKILL')
  })
})
