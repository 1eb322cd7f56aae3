// `convohouse receive` as users run it.
import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { RefusalReport } from '../../src/receiver/refusal-report.ts'
import { start, TOKEN, temporaryFolder } from './cli-process.ts'
import { inProcess } from './in-process.ts'

const SECRET = 'whsec-canary-3a77'

/** Returns the first line that the command prints to standard output, parsed. */
const firstLine = async ({ process: child }: ReturnType<typeof start>): Promise<{ url: string; workspaces: unknown }> =>
  new Promise(resolve => child.stdout!.once('data', text => resolve(JSON.parse(text))))

const env = (home: string, more: Record<string, string> = {}) => ({
  CONVOHOUSE_API_URL: 'http://127.0.0.1:1',
  CONVOHOUSE_API_TOKEN: 'none',
  CONVOHOUSE_WORKSPACE: 'ws_demo',
  CONVOHOUSE_HOME: home,
  ...more,
})

it('the receiver accepts events until SIGTERM, large and ambiguous ones included, and reveals its secret nowhere', async () => {
  const home = join(await temporaryFolder(), 'data')
  const running = start(['receive', '--port', '0', '--json'], { env: env(home, { CONVOHOUSE_WEBHOOK_SECRET: SECRET }) })
  const { url, workspaces } = await firstLine(running)
  expect(workspaces).toEqual([{ id: 'ws_demo', secrets: 1 }])
  const post = (more: object, workspaceSecret = SECRET) =>
    fetch(`${url}/webhooks`, {
      method: 'POST',
      body: JSON.stringify({ event: 'webhook_test', createdAt: 1, workspaceSecret, ...more }),
    })
  const inDoubt = { nested: { workspaceSecret: SECRET }, text: `of ${SECRET}` }
  const small = Array.from({ length: 50 }, (_, n) => post({ n, ...(n % 2 === 0 && inDoubt) }))
  const large = [post({ n: 50, message: 'x'.repeat(2_000_000) }), post({ n: 51, message: 'x'.repeat(9_000_000) })]
  const statuses = (await Promise.all([...small, ...large, post({}, `${SECRET}x`)])).map(({ status }) => status)
  expect(statuses).toEqual([...small.map(() => 200), 200, 413, 401])
  running.process.kill('SIGTERM')
  const { code, stdout, stderr } = await running.ended
  expect([code, stderr]).toEqual([0, expect.stringContaining('Stopping')])
  const files = (await readdir(home, { recursive: true, withFileTypes: true })).filter(entry => entry.isFile())
  const texts = await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8')))
  const lines = texts.filter((_, at) => files[at]!.name.endsWith('.ndjson')).flatMap(text => text.trim().split('\n'))
  const numbers = lines.map(line => JSON.parse(line).payload.n as number)
  expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 51 }, (_, n) => n))
  expect([stdout, stderr, ...texts].join('')).not.toContain(SECRET)
})

it('the receiver reloads its secrets at SIGHUP: no event is refused, and a secret that cannot be read changes nothing', async () => {
  const folder = await temporaryFolder()
  const NEXT = 'whsec-canary-next'
  const path = join(folder, 'convohouse.yaml')
  const configure = (...files: string[]) => {
    const secrets = files.map(file => ({ file: join(folder, file) }))
    const workspace = { id: 'ws_demo', apiUrl: 'http://127.0.0.1:1', token: { env: 'T' }, webhooks: { secrets } }
    return writeFile(path, JSON.stringify({ home: join(folder, 'data'), workspaces: [workspace] }))
  }
  await writeFile(join(folder, 'now'), SECRET)
  await writeFile(join(folder, 'next'), NEXT)
  await configure('now')
  const running = start(['receive', '--port', '0', '--json', '--config', path], { env: { T: TOKEN } })
  const { url } = await firstLine(running)
  let sent = 0
  const post = async (workspaceSecret: string) => {
    sent += 1
    const event = { event: 'webhook_test', createdAt: sent, workspaceSecret }
    return (await fetch(`${url}/webhooks`, { method: 'POST', body: JSON.stringify(event) })).status
  }
  const hangUp = async () => {
    const reloading = firstLine(running)
    running.process.kill('SIGHUP')
    return (await reloading).workspaces
  }
  expect([await post(SECRET), await post(NEXT)]).toEqual([200, 401])

  await configure('now', 'next')
  const reloading = hangUp()
  const meanwhile = await Promise.all(Array.from({ length: 40 }, () => post(SECRET)))
  expect(new Set(meanwhile)).toEqual(new Set([200]))
  expect(await reloading).toEqual([{ id: 'ws_demo', secrets: 2 }])
  expect([await post(SECRET), await post(NEXT)]).toEqual([200, 200])

  await configure('next')
  expect(await hangUp()).toEqual([{ id: 'ws_demo', secrets: 1 }])
  expect([await post(SECRET), await post(NEXT)]).toEqual([401, 200])

  await configure('nowhere')
  running.process.kill('SIGHUP')
  await running.said('The previous secrets stay valid.')
  expect([await post(SECRET), await post(NEXT)]).toEqual([401, 200])
  running.process.kill('SIGTERM')
  const { code, stdout, stderr } = await running.ended
  expect([code, stderr]).toEqual([0, expect.stringContaining('error SECRET_MISSING')])
  for (const secret of [SECRET, NEXT]) expect(stdout + stderr).not.toContain(secret)
})

it('the receiver reports refused requests in its log, in status and in doctor, across restarts, without their contents', async () => {
  const home = join(await temporaryFolder(), 'data')
  const options = { env: env(home, { CONVOHOUSE_WEBHOOK_SECRET: SECRET }) }
  const earlier = new RefusalReport({ home, log: () => {} })
  for (let n = 0; n < 5; n++) earlier.refuse('wrong-secret', 'ws_demo')
  await earlier.close()
  const running = start(['receive', '--port', '0', '--json'], options)
  const { url } = await firstLine(running)
  const event = { event: 'webhook_test', createdAt: 1, message: 'private words', workspaceSecret: 'whsec-wrong-0815' }
  expect((await fetch(`${url}/webhooks`, { method: 'POST', body: JSON.stringify(event) })).status).toBe(401)
  await running.said('refused 1 webhook of ws_demo: the secret matches none of the configured ones (401).')
  running.process.kill('SIGTERM')
  const { stderr } = await running.ended
  const status = await inProcess(['status'], options)
  expect(status.stdout).toMatch(
    /^ {2}refused +6 requests refused, the last .*: the secret matches none of the configured ones/m,
  )
  const json = JSON.parse((await inProcess(['status', '--json'], options)).stdout)
  expect(json.workspaces[0].events.refused).toMatchObject([{ reason: 'wrong-secret', count: 6 }])
  const doctor = await inProcess(['doctor', '--offline'], options)
  expect(doctor.stdout).toMatch(/^warn +webhooks +ws_demo: 6 requests refused/m)
  const record = await readFile(join(home, 'spool', '.refused.json'), 'utf8')
  for (const text of [stderr, status.stdout, doctor.stdout, record]) expect(text).not.toMatch(/whsec|private/)
})

it('the receiver needs a secret and a free address', async () => {
  const home = join(await temporaryFolder(), 'data')
  const without = await inProcess(['receive'], { env: env(home) })
  expect([without.code, without.stderr]).toEqual([2, expect.stringContaining('WEBHOOKS_UNCONFIGURED')])
  expect(without.stderr).toContain('→ Set CONVOHOUSE_WEBHOOK_SECRET')
  const file = join(await temporaryFolder(), 'convohouse.yaml')
  const silent = { id: 'ws_demo', apiUrl: 'http://127.0.0.1:1', token: { env: 'T' } }
  await writeFile(file, JSON.stringify({ home, workspaces: [silent] }))
  const unnamed = await inProcess(['receive', '--config', file], {
    env: { T: TOKEN, CONVOHOUSE_WEBHOOK_SECRET: SECRET },
  })
  expect([unnamed.code, unnamed.stderr]).toEqual([2, expect.stringContaining('→ Add `webhooks:')])
  const occupant = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void occupant.close())
  await once(occupant, 'listening')
  const { port } = occupant.address() as AddressInfo
  const options = { env: env(home, { CONVOHOUSE_WEBHOOK_SECRET: SECRET }) }
  const occupied = await inProcess(['receive', '--port', String(port)], options)
  expect([occupied.code, occupied.stderr]).toEqual([2, expect.stringContaining('error ADDRESS_IN_USE')])
  expect(occupied.stderr).toContain(`127.0.0.1:${port}`)
})
