// Runs the receiver of the compose file as configured there: its command, its health check, and the mounted secret.
import { execFile } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { start, temporaryFolder } from '../cli/cli-process.ts'
import { until } from '../until.ts'
import { readCompose } from './compose-file.ts'

const service = readCompose().services.receiver!
const SECRET = 'whsec-canary-0d15'

/** Replaces port 8787 of the container by a port of this machine. */
const placed = (words: readonly string[], port: string): string[] => words.map(word => word.replace(/\b8787\b/, port))

const isHealthy = (port: string): Promise<boolean> =>
  new Promise(resolve => {
    const [, command, ...words] = placed(service.healthcheck!.test!, port)
    expect(command).toBe('node')
    execFile(process.execPath, words, error => resolve(error === null))
  })

it('the receiver is healthy, accepts an event without an API token, and stores it', async () => {
  const home = await temporaryFolder()
  const secret = join(home, service.secrets![0]!)
  await writeFile(secret, `${SECRET}\n`, { mode: 0o600 })
  const workspace = { id: 'ws', apiUrl: 'https://api.example.com', token: { file: '/no/token/here' } }
  const config = { workspaces: [{ ...workspace, webhooks: { secrets: [{ file: secret }] } }] }
  await writeFile(join(home, 'convohouse.yaml'), JSON.stringify(config))
  const env = { CONVOHOUSE_CONFIG: join(home, 'convohouse.yaml'), CONVOHOUSE_HOME: join(home, 'data') }
  const running = start(placed(service.command!, '0'), { env })
  const line = await new Promise<string>(resolve => running.process.stdout!.once('data', text => resolve(String(text))))
  const [, port] = /:(\d+)\/webhooks/.exec(line)!
  await until(() => isHealthy(port!), { everyMs: 300 })
  const body = JSON.stringify({ event: 'webhook_test', createdAt: 1, message: 'hello', workspaceSecret: SECRET })
  expect((await fetch(`http://127.0.0.1:${port}/webhooks`, { method: 'POST', body })).status).toBe(200)
  running.process.kill('SIGTERM')
  expect(await running.ended).toMatchObject({ code: 0 })
  expect(await isHealthy(port!)).toBe(false)
  const sealed = join(home, 'data', 'spool', 'ws', 'sealed')
  const [name] = await readdir(sealed)
  expect(await readFile(join(sealed, name!), 'utf8')).toContain('"message":"hello"')
})

it('the receiver is published only to this machine, and started only if webhooks are requested', () => {
  expect(service.ports).toEqual(['127.0.0.1:8787:8787'])
  expect([service.profiles, service.secrets]).toEqual([['webhooks'], ['webhook-secret']])
})
