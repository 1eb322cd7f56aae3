// The source of the token gets a new token while a sync runs.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { TOKEN } from '../scene.ts'
import { simulatedApp } from './simulated/simulated-app.ts'

const NEW_TOKEN = 'canary-token-after-rotation'

/** A vendor that accepts only the token of `valid`, which changes before its `after`th request; returns the URL. */
async function rotating(sandbox: Sandbox, after: number, rotate: () => void): Promise<string> {
  let valid = TOKEN
  let requests = 0
  const server = createServer(async (request, response) => {
    if (++requests === after) {
      valid = NEW_TOKEN
      rotate()
    }
    const isValid = request.headers.authorization === `Bearer ${valid}`
    const answer = await fetch(new URL(request.url!, sandbox.url), {
      headers: { authorization: `Bearer ${isValid ? TOKEN : 'invalid'}` },
    })
    response.writeHead(answer.status, { date: answer.headers.get('date') ?? '', 'content-type': 'application/json' })
    response.end(Buffer.from(await answer.arrayBuffer()))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** An app whose vendor changes the token before its `after`th request; `read` is then what the source of the token holds. */
async function appWith(after: number, read: string) {
  let source = TOKEN
  const rotate = () => {
    source = read
  }
  return simulatedApp({
    sandbox: { conversations: 200 },
    settings: { maxPage: 10, readToken: () => source },
    through: sandbox => rotating(sandbox, after, rotate),
  })
}

describe('a sync whose token is replaced', () => {
  it.each([1, 2, 6])('goes on with the new one, and exports nothing twice (before request %i)', async after => {
    const simulated = await appWith(after, NEW_TOKEN)
    expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [] })
    const accepted = (await simulated.exported()).filter(({ status }) => status === 200)
    const asked = accepted.map(({ agentId, query }) => JSON.stringify([agentId, query]))
    expect(new Set(asked).size).toBe(asked.length)
    const [row] = await simulated.rows<{ n: number }>('SELECT count(*)::INTEGER AS n FROM conversations')
    expect(row!.n).toBeGreaterThan(100)
  })

  it('ends with API_UNAUTHORIZED if the source of the token still has the old one', async () => {
    const report = await (await appWith(6, TOKEN)).sync()
    expect(report.outcome).toBe('failed')
    expect(new Set(report.failures.map(({ code }) => code))).toEqual(new Set(['API_UNAUTHORIZED']))
  })
})
