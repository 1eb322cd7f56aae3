// A vendor that cannot be reached, so that no request is sent.
import { connect, createServer, type Server } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import type { GovernorState } from '../../../src/core/governor/governor.ts'
import { requestsThisHour } from '../../../src/core/governor/rate-limit.ts'
import { HOUR } from '../../../src/core/time.ts'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import type { SimulatedApp } from '../simulated/open-simulated-app.ts'
import { simulatedApp } from '../simulated/simulated-app.ts'

/** A proxy to the sandbox. While it is closed, the machine refuses connections, so no request is sent. */
async function proxyTo(sandbox: Sandbox): Promise<{ url: string; close(): Promise<void>; open(): Promise<void> }> {
  const target = new URL(sandbox.url)
  let server: Server | undefined
  let port = 0
  const sockets = new Set<{ destroy(): void }>()
  const listen = async () => {
    server = createServer(socket => {
      const through = connect(Number(target.port), target.hostname)
      for (const one of [socket, through]) {
        sockets.add(one)
        one.on('error', () => {})
        one.on('close', () => {
          sockets.delete(one)
          socket.destroy()
          through.destroy()
        })
      }
      socket.pipe(through).pipe(socket)
    })
    await new Promise<void>(resolve => server!.listen(port, '127.0.0.1', resolve))
    port = (server.address() as { port: number }).port
  }
  const close = async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise(resolve => server!.close(resolve))
  }
  await listen()
  onTestFinished(close)
  return { url: `http://127.0.0.1:${port}`, close, open: listen }
}

const governorsOf = ({ updates }: SimulatedApp): GovernorState[] =>
  updates.flatMap(one => (one.kind === 'governor' ? [one.governor] : []))

it('requests to an unreachable vendor count neither as billed sessions nor against the rate limit', async () => {
  let proxy!: Awaited<ReturnType<typeof proxyTo>>
  const simulated = await simulatedApp({
    sandbox: { conversations: 90, agents: 3 },
    settings: { maxPage: 10 },
    through: async sandbox => {
      proxy = await proxyTo(sandbox)
      return proxy.url
    },
  })
  await simulated.sync({ maxRequests: 4 })
  await proxy.close()
  simulated.advance(2 * HOUR)
  const report = await simulated.sync()
  expect(report).toMatchObject({ outcome: 'failed', requests: 0, sessions: 0, lostAnswers: 0, lostSessions: 0 })
  expect(report.failures[0]!.what).toContain('ECONNREFUSED')
  const governors = governorsOf(simulated)
  expect(governors.length).toBeGreaterThan(0)
  for (const { quota, rateLimit } of governors) {
    expect(quota.pending).toBeNull()
    expect(requestsThisHour(rateLimit, simulated.clock.now())).toBe(0)
  }
  await proxy.open()
  expect(await simulated.sync()).toMatchObject({ outcome: 'done', windowsLeft: 0 })
  expect(governorsOf(simulated)[0]!.quota.pending).toBeNull()
})
