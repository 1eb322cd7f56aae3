import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { DAY } from '../../src/core/time.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import type { ServedRequest } from '../../src/sandbox/request-log.ts'
import { CANARY } from '../../src/sandbox/world/agents/secret-bearing.ts'
import { TOKEN, WORKSPACE } from '../workflows/simulated/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'

const headers = { authorization: `Bearer ${TOKEN}` }

describe('pages of crawler jobs', () => {
  it.each([false, true])(
    'are requested by the configured ids, with their links; bodies: %s',
    async keepsCrawlerBodies => {
      const crawlerPages: Record<string, string[]> = {}
      const simulated = await simulatedApp({
        sandbox: { conversations: 0, agents: 1 },
        settings: { resources: ['crawler_pages'], crawlerPages, keepsCrawlerBodies },
      })
      const { sandbox } = simulated
      const { crawlerJobs } = (await (await fetch(`${sandbox.url}/_sandbox/resources`)).json()) as {
        crawlerJobs: { id: string; pages: string[] }[]
      }
      const [job] = crawlerJobs
      const ids = job!.pages
      crawlerPages[job!.id] = [...ids, 'page_none']
      const requests = async () => {
        const answer = await fetch(`${sandbox.url}/_sandbox/requests?kind=crawler`)
        return ((await answer.json()) as { requests: ServedRequest[] }).requests.length
      }
      await simulated.sync()
      await simulated.sync()
      expect(await requests()).toBe(ids.length + 1)

      const stored = await simulated.rows<Record<string, unknown> & { page_id: string }>(
        `SELECT page_id, job_id, url, failed, markdown, html, markdown_bytes::INTEGER AS bytes, markdown_sha256 AS sha256, html_sha256,
         (SELECT count(*)::INTEGER FROM crawler_page_links l WHERE l._record = p._record) AS links FROM crawler_pages p`,
      )
      expect(stored.map(({ page_id }) => page_id).sort()).toEqual([...ids].sort())
      for (const [number, id] of ids.entries()) {
        const url = `${sandbox.url}/v3/workspaces/ws_demo/crawler/jobs/${job!.id}/pages/${id}`
        const { data } = (await (await fetch(url, { headers })).json()) as {
          data: {
            page: { failed: boolean }
            content: { scrapeResponse: { markdown?: string; urlsDiscovered: string[] } }
          }
        }
        const { markdown, urlsDiscovered } = data.content.scrapeResponse
        const row = stored.find(({ page_id }) => page_id === id)!
        expect([row.job_id, row.failed, row.links]).toEqual([job!.id, number === 2, urlsDiscovered.length])
        expect(row.markdown).toBe(keepsCrawlerBodies ? (markdown ?? null) : null)
        expect(row.bytes).toBe(markdown === undefined ? null : Buffer.byteLength(markdown))
        expect(row.sha256).toBe(markdown === undefined ? null : createHash('sha256').update(markdown).digest('hex'))
        expect([row.html !== null, row.html_sha256 !== null]).toEqual([
          keepsCrawlerBodies && number !== 2,
          number !== 2,
        ])
      }
      const landing = openLanding(simulated.config.home).workspace(WORKSPACE)
      for (const { address } of await landing.list('crawler_pages')) {
        const body = (await landing.body(address)).toString()
        expect(body).not.toContain(CANARY)
        if (!keepsCrawlerBodies) expect(body).not.toContain('<html')
      }

      const jobUrl = `${sandbox.url}/v3/workspaces/ws_demo/crawler/jobs/${job!.id}`
      await fetch(jobUrl, { method: 'DELETE', headers })
      simulated.advance(8 * DAY)
      const before = await requests()
      await simulated.sync()
      expect((await requests()) - before).toBe(ids.length)
      const gone = () =>
        simulated.rows(
          'SELECT page_id, _missing_since FROM crawler_pages WHERE _missing_since IS NOT NULL ORDER BY ALL',
        )
      const missing = await gone()
      expect(missing).toHaveLength(ids.length)
      await simulated.replay()
      expect(await gone()).toEqual(missing)
    },
  )
})
