// `convohouse receive` as its users run it.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { start, temporaryFolder } from './cli-process.ts'

const SECRET = 'whsec-canary-3a77'

/** What it tells on standard output first, as JSON. */
const told = async ({ process: child }: ReturnType<typeof start>): Promise<{ url: string; workspaces: unknown }> =>
  new Promise(resolve => child.stdout!.once('data', text => resolve(JSON.parse(text))))

const env = (home: string, more: Record<string, string> = {}) => ({
  CONVOHOUSE_API_URL: 'http://127.0.0.1:1',
  CONVOHOUSE_API_TOKEN: 'none',
  CONVOHOUSE_WORKSPACE: 'ws_demo',
  CONVOHOUSE_HOME: home,
  ...more,
})

it('takes events in until SIGTERM, large ones beside small ones, and tells its secret nowhere', async () => {
  const home = join(await temporaryFolder(), 'data')
  const running = start(['receive', '--port', '0', '--json'], { env: env(home, { CONVOHOUSE_WEBHOOK_SECRET: SECRET }) })
  const { url, workspaces } = await told(running)
  expect(workspaces).toEqual([{ id: 'ws_demo', secrets: 1 }])
  const post = (more: object, workspaceSecret = SECRET) =>
    fetch(`${url}/webhooks`, {
      method: 'POST',
      body: JSON.stringify({ event: 'webhook_test', createdAt: 1, workspaceSecret, ...more }),
    })
  const small = Array.from({ length: 50 }, (_, n) =>
    post({ n, nested: { workspaceSecret: SECRET }, text: `of ${SECRET}` }),
  )
  const large = [post({ n: 50, message: 'x'.repeat(2_000_000) }), post({ n: 51, message: 'x'.repeat(9_000_000) })]
  const statuses = (await Promise.all([...small, ...large, post({}, `${SECRET}x`)])).map(({ status }) => status)
  expect(statuses).toEqual([...small.map(() => 200), 200, 413, 401])
  running.process.kill('SIGTERM')
  const { code, stdout, stderr } = await running.ended
  expect([code, stderr]).toEqual([0, expect.stringContaining('Stopping')])
  const files = (await readdir(home, { recursive: true, withFileTypes: true })).filter(entry => entry.isFile())
  const texts = await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8')))
  const numbers = texts.flatMap(text =>
    text
      .trim()
      .split('\n')
      .map(line => JSON.parse(line).payload.n as number),
  )
  expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 51 }, (_, n) => n))
  expect([stdout, stderr, ...texts].join('')).not.toContain(SECRET)
})

it('needs a secret, and an address that is free', async () => {
  const home = join(await temporaryFolder(), 'data')
  const without = await start(['receive'], { env: env(home) }).ended
  expect([without.code, without.stderr]).toEqual([2, expect.stringContaining('WEBHOOKS_UNCONFIGURED')])
  const secret = { CONVOHOUSE_WEBHOOK_SECRET: SECRET }
  const first = start(['receive', '--port', '0', '--json'], { env: env(home, secret) })
  const { port } = new URL((await told(first)).url)
  const second = await start(['receive', '--port', port], { env: env(home, secret) }).ended
  expect([second.code, second.stderr]).toEqual([2, expect.stringContaining('EADDRINUSE')])
})
