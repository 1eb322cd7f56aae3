// Runs the services of the compose file as configured there, with a real Temporal server: each with its command and
// health check, in a copy of the image's files.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Running, start } from '../cli/cli-process.ts'
import { scene, TOKEN, WORKSPACE } from '../contract/scene.ts'
import { freePort } from '../ports.ts'
import { describeWithTemporal } from '../run/temporal/with-temporal.ts'
import { isDeep } from '../tier.ts'
import { until } from '../until.ts'
import { ownServices, readCompose, type Service } from './compose-file.ts'
import { healthCheckOf, ROOT, readStages, wordsOf } from './dockerfile.ts'
import { IMAGE_ENV, lastStage } from './image.ts'

const image = readStages().at(-1)!
const services = new Map(ownServices(readCompose()))

/** Replaces a container: a copy of the image's `/app`, and the port of this machine that replaces port 9464. */
interface Place {
  app: string
  port: number
}

const placed = (words: readonly string[], { app, port }: Place): string[] =>
  words.map(word => word.replace(/^\/app\//, `${app}/`).replace(/^[\d.]+:9464$/, `127.0.0.1:${port}`))

const seconds = (duration: string): number => Number(/^(\d+)s$/.exec(duration)![1])

describeWithTemporal('the services of the compose file', ({ env: temporal }) => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'convohouse-services-'))
    await lastStage(ROOT, join(folder, 'app'))
  })
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true })
  })

  const env = ({ environment = {} }: Service, mounted: string): Record<string, string> => ({
    ...IMAGE_ENV,
    ...environment,
    CONVOHOUSE_HOME: join(mounted, 'data'),
    CONVOHOUSE_CONFIG: join(mounted, environment.CONVOHOUSE_CONFIG!),
    ...temporal,
  })

  /** Returns a folder with the files that services mount: configuration and secret. */
  async function mounted(): Promise<string> {
    const { config, sandbox } = await scene()
    const root = config.home
    const [{ target } = { target: '' }] = services.get('warehouse')!.configs!
    const secret = join(root, 'run/secrets', services.get('warehouse')!.secrets![0]!)
    for (const path of [target, 'run/secrets/', 'data/'])
      await mkdir(join(root, path.slice(0, path.lastIndexOf('/'))), { recursive: true })
    await writeFile(secret, `${TOKEN}\n`, { mode: 0o600 })
    const workspace = { id: WORKSPACE, apiUrl: sandbox.url, token: { file: secret }, schedule: { every: '1h' } }
    await writeFile(join(root, target), JSON.stringify({ temporal: { queues: 'services' }, workspaces: [workspace] }))
    return root
  }

  async function run(name: string, root: string): Promise<{ running: Running; place: Place }> {
    const service = services.get(name)!
    const place = { app: join(folder, 'app'), port: await freePort() }
    const [node, main] = placed(wordsOf(image, 'ENTRYPOINT'), place)
    expect(node).toBe('node')
    const running = start(placed(service.command!, place), { main: main!, env: env(service, root) })
    return { running, place }
  }

  /** Runs the image's health check once. */
  const isHealthy = (place: Place): Promise<boolean> =>
    new Promise(resolve => {
      const [, ...words] = placed(healthCheckOf(image), place)
      execFile(process.execPath, words, error => resolve(error === null))
    })

  async function healthy(place: Place): Promise<void> {
    await until(() => isHealthy(place), { everyMs: 1_500 })
  }

  it.runIf(isDeep)('become healthy when they take tasks, create schedules, and shut down in time', async () => {
    const root = await mounted()
    const warehouse = await run('warehouse', root)
    expect(await isHealthy(warehouse.place)).toBe(false)
    const exporting = await run('export', root)
    const workers = [warehouse, exporting]
    for (const { place } of workers) await healthy(place)
    const schedules = await (await run('schedules', root)).running.ended
    expect([schedules.code, schedules.stdout]).toEqual([0, expect.stringContaining(WORKSPACE)])

    exporting.running.process.kill('SIGSTOP')
    expect(await isHealthy(exporting.place)).toBe(false)
    exporting.running.process.kill('SIGCONT')
    await healthy(exporting.place)

    if (process.platform === 'linux')
      for (const { running } of workers)
        expect(readFileSync(`/proc/${running.process.pid}/environ`, 'utf8')).not.toContain(TOKEN)
    for (const { running } of workers) {
      const graceMs = seconds(services.get('warehouse')!.stop_grace_period!) * 1_000
      const beganMs = performance.now()
      running.process.kill('SIGTERM')
      const { code, stdout, stderr } = await running.ended
      expect([code, performance.now() - beganMs < graceMs]).toEqual([0, true])
      expect(stdout + stderr).not.toContain(TOKEN)
    }
  })
})
