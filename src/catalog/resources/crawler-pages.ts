// Pages of web-crawler jobs (sections 2.9 and 4.10). No endpoint lists jobs or pages, so their ids come from the configuration.
// A page never changes after its job. Texts of pages are large and are kept only on request, but their size and digest always.
import { createHash } from 'node:crypto'
import { DAY } from '../../core/time.ts'
import { isObject } from '../inspection/inspect.ts'
import type { RecordType } from '../shape.ts'
import { any, boolean, count, group, text, texts, time } from '../shape.ts'
import type { Resource } from './resource.ts'

const KEY = '_key'

const crawlerPage: RecordType = {
  name: 'crawler page',
  table: 'crawler_pages',
  about: 'One row for each configured page of a web-crawler job, as it was last returned',
  // The document does not say that ids of pages are unique across jobs.
  id: { key: KEY, column: 'page_key' },
  fields: {
    [KEY]: text('Ids of the job and the page', { column: 'page_key' }),
    jobId: text('Id of the job'),
    pageId: text('Id of the page'),
    page: group(
      'The page',
      {
        id: text('Id of the page, as sent', { column: 'reported_page_id' }),
        url: text('Address', { pii: 'content' }),
        urlHash: text('Hash of the address'),
        title: text('Title', { pii: 'content' }),
        description: text('Description', { pii: 'content' }),
        imageUrl: text('Picture', { pii: 'content' }),
        userId: text('Id of the user', { pii: 'staff' }),
        scrapedAt: time('When it was read', { column: 'scraped_at' }),
        mdCharCount: count('Characters of its Markdown', { column: 'markdown_chars' }),
        htmlCharCount: count('Characters of its HTML', { column: 'html_chars' }),
        failed: boolean('It could not be read'),
      },
      { isFlat: true },
    ),
    content: group(
      'Its content',
      {
        urlScraped: text('Address that was read', { pii: 'content', column: 'scraped_url' }),
        urlHash: text('Hash of that address', { column: 'scraped_url_hash' }),
        scrapeResponse: group(
          'What was read',
          {
            urlScraped: text('Address that answered', { pii: 'content', column: 'response_url' }),
            metadata: any('Title, description and pictures that the page declares, as sent', { pii: 'content' }),
            urlsDiscovered: texts('Links of a page', 'crawler_page_links', 'url', { pii: 'content' }),
            markdown: text('Markdown; kept if the configuration says so', { pii: 'content' }),
            markdownBytes: count('Size of the Markdown, without secrets', { unit: 'bytes' }),
            markdownSha256: text('SHA-256 of the Markdown, without secrets'),
            html: text('HTML; kept if the configuration says so', { pii: 'content' }),
            htmlBytes: count('Size of the HTML, without secrets', { unit: 'bytes' }),
            htmlSha256: text('SHA-256 of the HTML, without secrets'),
            err: any('Why it could not be read, as sent', { column: 'error', pii: 'content' }),
          },
          { isFlat: true },
        ),
      },
      { isFlat: true },
    ),
  },
}

type Json = Readonly<Record<string, unknown>>

const BODIES = ['markdown', 'html'] as const

/** Returns the size and digest of a page's texts. */
const measured = (response: Json): Json =>
  Object.fromEntries(
    BODIES.flatMap(name => {
      const body = response[name]
      if (typeof body !== 'string') return []
      const sha256 = createHash('sha256').update(body).digest('hex')
      return [
        [`${name}Bytes`, Buffer.byteLength(body)],
        [`${name}Sha256`, sha256],
      ]
    }),
  )

const withResponse = (answer: unknown, change: (response: Json) => Json): unknown => {
  const { data } = (answer ?? {}) as { data?: unknown }
  if (!isObject(data) || !isObject(data.content) || !isObject(data.content.scrapeResponse)) return answer
  const scrapeResponse = change(data.content.scrapeResponse)
  return { ...(answer as object), data: { ...data, content: { ...data.content, scrapeResponse } } }
}

/** Returns the answer with the ids of the request, and with size and digest of the texts. */
function keyPage(answer: unknown, [jobId = '', pageId = '']: readonly string[]): unknown {
  const { data } = (answer ?? {}) as { data?: unknown }
  if (!isObject(data)) return answer
  const key = [jobId, pageId].map(encodeURIComponent).join('/')
  const own = { ...(answer as object), data: { [KEY]: key, jobId, pageId, ...data } }
  return withResponse(own, response => ({ ...response, ...measured(response) }))
}

/** Returns the answer without the texts of the page. */
export const withoutBodies = (answer: unknown): unknown =>
  withResponse(answer, ({ markdown, html, ...response }) => response)

export const CRAWLER_PAGES = {
  stream: 'crawler_pages',
  answer: 'crawler page',
  path: '/v3/workspaces/{workspaceId}/crawler/jobs/{jobId}/pages/{pageId}',
  parent: null,
  paging: 'record',
  prepare: keyPage,
  envelope: ['data'],
  freshness: { everyMs: 7 * DAY, absentEveryMs: 30 * DAY },
  record: crawlerPage,
  absence: 'not found',
  ids: { tables: [], setting: 'crawlerPages' },
  landedAs: 'crawler-page',
} as const satisfies Resource
