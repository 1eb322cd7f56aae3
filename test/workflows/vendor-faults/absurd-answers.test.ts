// A real sync against answers with absurd values: numbers, times and refusals that no vendor should send.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { HOUR } from '../../../src/core/time.ts'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import { Draw, PURPOSE } from '../../../src/sandbox/world/random.ts'
import { isDeep } from '../../tier.ts'
import type { SimulatedApp } from '../simulated/open-simulated-app.ts'
import { simulatedApp } from '../simulated/simulated-app.ts'

type Body = Record<string, unknown>
interface Passed {
  status: number
  headers: Record<string, string>
  body: Body | string
}

/** Starts a proxy that passes each of the sandbox's export answers through `meddle`; returns its URL. */
async function meddled(sandbox: Sandbox, meddle: (passed: Passed, number: number) => Passed): Promise<string> {
  let exports = 0
  const server = createServer(async (request, response) => {
    const url = new URL(request.url!, sandbox.url)
    const isExport = url.pathname.endsWith('/convos/export')
    const number = isExport ? ++exports : 0
    const answer = await fetch(url, { headers: { authorization: request.headers.authorization ?? '' } })
    const headers = { date: answer.headers.get('date') ?? '' }
    const passed = { status: answer.status, headers, body: (await answer.json()) as Body }
    const sent: Passed = isExport ? meddle(passed, number) : passed
    const text = typeof sent.body === 'string' ? sent.body : JSON.stringify(sent.body)
    // JSON allows numbers beyond the range of a double, but JSON.stringify cannot write them.
    response.writeHead(sent.status, sent.headers).end(text.replaceAll('"<1e400>"', '1e400'))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const stored = async ({ rows }: SimulatedApp): Promise<number> =>
  (await rows<{ n: number }>('SELECT count(*)::INTEGER AS n FROM conversations'))[0]!.n

const waits = ({ updates }: SimulatedApp) => updates.flatMap(one => (one.kind === 'waiting' ? [one.untilMs] : []))

describe('a sync whose vendor sends an absurd Retry-After', () => {
  const FEW = ['99999999999999']
  const MORE = [
    'Thu, 01 Jan 1970 00:00:00 GMT',
    'NaN',
    '1700000000',
    '9'.repeat(400),
    '1e400',
    'Fri, 31 Dec 9999 23:59:59 GMT',
    'Sat, 13 Sep 275760 00:00:00 GMT',
    '-5',
  ]
  it.each(isDeep ? [...FEW, ...MORE] : FEW)(
    'waits for at most an hour and then reads everything: %s',
    async retryAfter => {
      const simulated = await simulatedApp({
        sandbox: { conversations: 60, agents: 1 },
        through: sandbox =>
          meddled(sandbox, (passed, number) =>
            number === 2
              ? {
                  status: 429,
                  headers: { ...passed.headers, 'retry-after': retryAfter },
                  body: { message: 'slow down' },
                }
              : passed,
          ),
      })
      const beganMs = simulated.clock.now()
      expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [] })
      expect(waits(simulated).length).toBeGreaterThan(0)
      for (const untilMs of waits(simulated)) expect(untilMs).toBeLessThanOrEqual(beganMs + HOUR + 60_000)
      expect(simulated.clock.now() - beganMs).toBeLessThan(HOUR + 10 * 60_000)
      expect(await stored(simulated)).toBeGreaterThan(40)
    },
  )
})

/** Usage values that must count as missing. */
const INVALID_USAGE = ['NaN', '<1e400>', '1e400', -1e300, 1e300, -1, 'many', {}, [], true, null]

describe('a sync whose vendor reports usage and limits that are not numbers', () => {
  it.each(isDeep ? [1, 2, 3, 4] : [3])(
    'exports until the quota is used and charges no overage (seed %i)',
    async seed => {
      const draw = new Draw(seed, 0, PURPOSE.exportFault)
      const absurd = () => INVALID_USAGE[Math.floor(draw.unit() * INVALID_USAGE.length)]
      const simulated = await simulatedApp({
        sandbox: { conversations: 180, historyDays: 1_800, quotaSessions: 120 },
        through: sandbox =>
          meddled(sandbox, passed => {
            const body = passed.body as { usage: Body; rateLimit: Body }
            const used = body.usage.billableUsedThisPeriod as number
            const usage = Object.fromEntries(
              Object.entries(body.usage).map(([name, value]) => [name, draw.unit() < 0.5 ? absurd() : value]),
            )
            const rateLimit = Object.fromEntries(Object.keys(body.rateLimit).map(name => [name, absurd()]))
            // Half a session counts as one; a numeric string counts as a number.
            const reported = draw.unit() < 0.5 ? used - 0.5 : String(used)
            const includedQuota = draw.unit() < 0.5 ? 120.4 : '120'
            return {
              ...passed,
              body: {
                ...body,
                usage: { ...usage, billableUsedThisPeriod: reported, includedQuota },
                rateLimit,
                scannedConvoCount: absurd(),
              },
            }
          }),
      })
      const report = await simulated.sync()
      expect(report).toMatchObject({ outcome: 'period-spent', failures: [] })
      expect(await simulated.usage()).toMatchObject({ overageUsedThisPeriod: 0, overagePacksCharged: 0 })
      expect(await stored(simulated)).toBeGreaterThan(50)
      expect(await simulated.rows('SELECT file FROM _requests WHERE billed_sessions < 0 OR scanned < 0')).toEqual([])
    },
  )
})

describe('an error answer to an export', () => {
  const PROXY = { status: 404, headers: { 'content-type': 'text/html' }, body: '<html>default backend - 404</html>' }
  const VENDOR = { message: 'Agent not found', code: 'NOT_FOUND', issues: [{ message: 'Agent not found' }] }
  const marked = ({ rows }: SimulatedApp) => rows('SELECT agent_id FROM agents WHERE _missing_since IS NOT NULL')

  it('is a failure if it is the 404 of a proxy: no agent is marked as missing, and the next sync reads everything', async () => {
    let isDown = true
    const simulated = await simulatedApp({
      sandbox: { conversations: 60 },
      through: sandbox => meddled(sandbox, passed => (isDown ? PROXY : passed)),
    })
    const report = await simulated.sync()
    expect(report).toMatchObject({ outcome: 'failed', agentsGone: [] })
    expect(report.failures[0]).toMatchObject({ code: 'API_PROTOCOL', what: expect.stringContaining('404') })
    expect(await marked(simulated)).toEqual([])
    isDown = false
    expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [] })
    expect(await stored(simulated)).toBeGreaterThan(40)
  })

  it('marks the agent as missing if it is a 404 in the format of the vendor', async () => {
    const simulated = await simulatedApp({
      sandbox: { conversations: 60, agents: 1 },
      through: sandbox => meddled(sandbox, passed => ({ ...passed, status: 404, body: VENDOR })),
    })
    expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [] })
    expect(await marked(simulated)).toHaveLength(1)
  })

  // Deep tier only: npm test covers the rule in test/client/refusals.test.ts.
  it.runIf(isDeep).each([408, 425])('is retried without a failure if its status is %i', async status => {
    const simulated = await simulatedApp({
      sandbox: { conversations: 60, agents: 1 },
      through: sandbox =>
        meddled(sandbox, (passed, number) => (number > 1 && number < 7 ? { ...passed, status, body: {} } : passed)),
    })
    expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [] })
    expect(await stored(simulated)).toBeGreaterThan(40)
  })
})

describe('an answer that cannot be parsed', () => {
  it('pauses the sync and is named as the reason', async () => {
    const simulated = await simulatedApp({
      sandbox: { conversations: 10 },
      through: sandbox =>
        meddled(sandbox, (passed, number) => (number < 5 ? { ...passed, body: '<html>Sign in</html>' } : passed)),
    })
    expect((await simulated.sync()).outcome).toBe('done')
    const paused = simulated.updates.flatMap(one =>
      one.kind === 'waiting' && one.reason === 'paused' ? [one.code] : [],
    )
    expect(new Set(paused)).toEqual(new Set(['API_NOT_JSON']))
  })
})
