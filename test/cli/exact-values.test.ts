// Non-ASCII texts of bills, and numbers of agents with more digits than a double holds, reach the tables exactly as the vendor sent
// them.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { TOKEN, temporaryFolder } from './cli-process.ts'
import { inProcess, rowsOf } from './in-process.ts'

const SUMMARY = '0 conversations – 0 sessions ✓ Grüße'
const LOG_ID = 'export_Zoë'
/** As a double, this id would become 17841405822304916. */
const PAGE_ID = '17841405822304915'

const USAGE = `{"periodKey":"p1","billableUsedThisRequest":0,"billableUsedThisPeriod":0,"includedQuota":50000,"billableRemainingThisPeriod":50000,"summary":"${SUMMARY}","logId":"${LOG_ID}"}`

/** A vendor with one agent that has no conversations. */
async function vendor(): Promise<string> {
  const server = createServer((request, response) => {
    const isListing = request.url!.startsWith('/v3/agents/search')
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(
        isListing
          ? `{"agents":[{"ID":"a1","title":"Zoë","instagramOptions":{"pageId":${PAGE_ID},"apiKey":"canary","share":0.5}}],"total":1,"hasMore":false}`
          : `{"success":true,"data":[],"usage":${USAGE},"hasMore":false,"nextCursor":null,"scannedConvoCount":0}`,
      )
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

it('ids and summaries of bills, and numbers of agents, are stored exactly as they were sent, also after a replay', async () => {
  const env = {
    CONVOHOUSE_API_URL: await vendor(),
    CONVOHOUSE_API_TOKEN: TOKEN,
    CONVOHOUSE_WORKSPACE: 'ws_demo',
    CONVOHOUSE_HOME: join(await temporaryFolder(), 'data'),
  }
  const storedValues = async () => [
    await rowsOf('SELECT DISTINCT log_id, usage_summary FROM _requests WHERE log_id IS NOT NULL', env),
    await rowsOf("SELECT title, extra::VARCHAR AS extra, extra->>'$.instagramOptions.pageId' AS page FROM agents", env),
  ]
  expect((await inProcess(['sync'], { env })).code).toBe(0)
  const live = await storedValues()
  expect(live).toEqual([
    [{ log_id: LOG_ID, usage_summary: SUMMARY }],
    [{ title: 'Zoë', extra: `{"instagramOptions":{"pageId":${PAGE_ID},"share":0.5}}`, page: PAGE_ID }],
  ])
  expect((await inProcess(['replay'], { env })).code).toBe(0)
  expect(await storedValues()).toEqual(live)
})
