// GET …/crawler/jobs/{jobId}/pages/{pageId} and DELETE …/crawler/jobs/{jobId} (API document, sections 2.9, 4.10 and 4.11).
import { z } from 'zod'
import type { SandboxService } from '../service.ts'
import { type CrawlerJob, crawlerJobs, crawlerPage } from '../world/crawler.ts'
import { type Answer, fault, jsonAnswer } from './answer.ts'
import { NO_QUERY } from './query.ts'
import { envelope, type Route, type RouteRequest } from './route.ts'
import { otherWorkspace } from './workspaces.ts'

const JOB = '/v3/workspaces/{workspaceId}/crawler/jobs/{jobId}'
const CRAWLER = { kind: 'crawler', faultKind: 'crawler', query: NO_QUERY, errors: [403] } as const

const PageSchema = z.object({
  page: z.object({
    id: z.string(),
    url: z.string(),
    urlHash: z.string(),
    title: z.string().nullable(),
    description: z.string().nullable().optional(),
    imageUrl: z.string().nullable().optional(),
    userId: z.string(),
    scrapedAt: z.number(),
    mdCharCount: z.int(),
    htmlCharCount: z.int(),
    failed: z.boolean(),
  }),
  content: z.object({
    urlScraped: z.string(),
    urlHash: z.string(),
    scrapeResponse: z.object({
      metadata: z.object({
        title: z.string(),
        description: z.string().nullable().optional(),
        ogImage: z.string().nullable().optional(),
        favicon: z.string(),
      }),
      urlScraped: z.string(),
      urlsDiscovered: z.array(z.string()),
      markdown: z.string().optional(),
      html: z.string().optional(),
      err: z.unknown(),
    }),
  }),
})

export const CRAWLER_ROUTES: readonly Route[] = [
  {
    ...CRAWLER,
    method: 'GET',
    path: `${JOB}/pages/{pageId}`,
    operation: 'getCrawlerPage',
    summary: 'Get crawler job page',
    response: envelope({ data: PageSchema }),
    answer: ofJob(getPage),
  },
  {
    ...CRAWLER,
    method: 'DELETE',
    path: JOB,
    operation: 'deleteCrawlerJob',
    summary: 'Delete crawler job',
    response: envelope({}),
    answer: ofJob(deleteJob),
  },
]

/** The jobs that exist at that time. */
export const existingJobs = ({ options, state }: SandboxService, nowMs: number): CrawlerJob[] =>
  crawlerJobs(options, nowMs).filter(({ id }) => !state.isJobDeleted(id))

type Handler = (service: SandboxService, job: CrawlerJob, request: RouteRequest) => Answer

function ofJob(handler: Handler): Route['answer'] {
  return (service, request) => {
    const { ids, nowMs } = request
    const other = otherWorkspace(service, ids.workspaceId!)
    if (other) return other
    const job = existingJobs(service, nowMs).find(({ id }) => id === ids.jobId)
    return job ? handler(service, job, request) : fault(404, 'Crawler job not found')
  }
}

function getPage({ options }: SandboxService, job: CrawlerJob, { ids }: RouteRequest): Answer {
  const number = job.pages.indexOf(ids.pageId!)
  if (number < 0) return fault(404, 'Page not found')
  const data = crawlerPage(options.seed, options.workspaceId, job, number)
  return jsonAnswer({ success: true, message: 'Page retrieved successfully', data })
}

/** Removes the job and its pages. Section 6.3 has no event of crawler jobs. */
function deleteJob({ state }: SandboxService, { id }: CrawlerJob, { nowMs }: RouteRequest): Answer {
  state.record({ type: 'deleted-job', ms: nowMs, jobId: id })
  return jsonAnswer({ success: true, message: 'Crawler job deleted successfully' })
}
