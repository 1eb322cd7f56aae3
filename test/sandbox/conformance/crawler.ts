// Sections 4.10 and 4.11: pages and deletion of crawler jobs.
import { expect } from 'vitest'
import { ask, resources } from '../endpoints/writer.ts'
import { expectRefused, isServed, type Section } from './sentences.ts'

const JOBS = '/v3/workspaces/ws_demo/crawler/jobs'
const ROUTE = '/v3/workspaces/{workspaceId}/crawler/jobs/{jobId}'

interface Page {
  data: { page: Record<string, unknown>; content: { scrapeResponse: Record<string, unknown> } }
}

const anyText = expect.any(String)
const anyNumber = expect.any(Number)

export const CRAWLER_PAGE: Section = {
  sentences: [
    ['is GET …/crawler/jobs/{jobId}/pages/{pageId}', isServed(`GET ${ROUTE}/pages/{pageId}`)],
    [
      'data has the page and its content; text and HTML are there if the page could be read',
      async open => {
        const sandbox = await open()
        const [job] = (await resources(sandbox)).crawlerJobs
        const failed = new Set<unknown>()
        for (const id of job!.pages) {
          const { status, body } = await ask<Page>(sandbox, 'GET', `${JOBS}/${job!.id}/pages/${id}`)
          const { page, content } = body.data
          expect([status, body]).toEqual([200, { success: true, message: anyText, data: { page, content } }])
          const { markdown, html, err } = content.scrapeResponse
          expect(page).toMatchObject({ id, urlHash: anyText, userId: anyText, scrapedAt: anyNumber })
          expect(page).toMatchObject({
            mdCharCount: String(markdown ?? '').length,
            htmlCharCount: String(html ?? '').length,
          })
          expect(content).toMatchObject({
            urlScraped: page.url,
            urlHash: page.urlHash,
            scrapeResponse: { metadata: { title: anyText }, urlScraped: page.url, urlsDiscovered: expect.any(Array) },
          })
          expect([page.failed, typeof html]).toEqual([err !== null, typeof markdown])
          failed.add(page.failed)
        }
        expect(failed).toEqual(new Set([true, false]))
        expectRefused(await ask(sandbox, 'GET', `${JOBS}/${job!.id}/pages/page_none`), 404)
      },
    ],
  ],
}

export const CRAWLER_DELETED: Section = {
  sentences: [
    ['is DELETE …/crawler/jobs/{jobId}', isServed(`DELETE ${ROUTE}`)],
    [
      'the answer has `success` and a message; the job and its pages are gone, the others are not',
      async open => {
        const sandbox = await open()
        const [job, other] = (await resources(sandbox)).crawlerJobs
        const path = `${JOBS}/${job!.id}`
        const { status, body } = await ask(sandbox, 'DELETE', path)
        expect([status, body]).toEqual([200, { success: true, message: anyText }])
        for (const id of job!.pages) expectRefused(await ask(sandbox, 'GET', `${path}/pages/${id}`), 404)
        expectRefused(await ask(sandbox, 'DELETE', path), 404)
        expect((await resources(sandbox)).crawlerJobs.map(({ id }) => id)).not.toContain(job!.id)
        expect((await ask(sandbox, 'GET', `${JOBS}/${other!.id}/pages/${other!.pages[0]}`)).status).toBe(200)
      },
    ],
  ],
}
