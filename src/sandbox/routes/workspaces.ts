// PATCH /v3/workspaces/{id}, and the workspace's crawler jobs (API document, sections 2.6, 2.9, 4.6, 4.10 and 4.11).

import { z } from 'zod'
import { DAY, MINUTE } from '../../core/time.ts'
import { canary } from '../world/agents/secret-bearing.ts'
import { Draw, mix, PURPOSE } from '../world/random.ts'
import { STAFF } from '../world/staff.ts'
import { type Answer, fault, jsonAnswer } from './answer.ts'
import { readBody } from './input.ts'
import type { Route, RouteRequest, SandboxService } from './route.ts'

const Body = z.object({
  updates: z.object({
    workspaceName: z.string().optional(),
    workspaceEmails: z.array(z.string()).optional(),
    automaticBilling: z.boolean().optional(),
    marketplaceProfile: z
      .object({
        username: z.string().min(1).optional(),
        description: z.string().optional(),
        email: z.string().optional(),
        photoURL: z.string().optional(),
      })
      .optional(),
  }),
})

/** Usernames of other workspaces on the marketplace, compared without case. */
const TAKEN = ['convo-studio', 'nova-labs', 'deskpilot']

/** Returns the answer to a request for another workspace than that of the token; undefined for the right one. */
function otherWorkspace({ options }: SandboxService, workspaceId: string): Answer | undefined {
  return workspaceId === options.workspaceId ? undefined : fault(403, 'The token belongs to another workspace')
}

/** Changes only the given fields. Section 6.3 has no event for workspaces. */
export function updateWorkspace(service: SandboxService, { ids, body }: RouteRequest): Answer {
  const { state } = service
  const read = readBody(Body, body)
  if ('refused' in read) return read.refused
  const other = otherWorkspace(service, ids.id!)
  if (other) return other
  const { updates } = read.value
  const username = updates.marketplaceProfile?.username
  if (username !== undefined && TAKEN.includes(username.toLowerCase()))
    return fault(409, `The username ${JSON.stringify(username)} is taken`)
  const { workspaceName, workspaceEmails } = updates
  if (workspaceName !== undefined) state.workspace.workspaceName = workspaceName
  if (workspaceEmails !== undefined) state.workspace.workspaceEmails = workspaceEmails
  return jsonAnswer({ success: true, message: 'Workspace updated successfully', data: workspaceOf(service) })
}

/** Returns the fields of section 2.6, which do not include all fields that can be changed. */
function workspaceOf({ options, state, conditions }: SandboxService) {
  const [, owner, email] = STAFF[0]!
  const { workspaceName = 'Demo workspace', workspaceEmails = STAFF.map(([, , address]) => address) } = state.workspace
  return {
    uid: options.workspaceId,
    email,
    displayName: owner,
    workspaceName,
    workspaceEmails,
    photoURL: 'https://cdn.example.com/workspaces/demo.png',
    region: 'eu',
    hasEverPaid: conditions.paid,
  }
}

// GET …/crawler/jobs/{jobId}/pages/{pageId} and DELETE …/crawler/jobs/{jobId} (API document, sections 2.9, 4.10 and 4.11).

/** Returns the jobs that callers have not deleted. */
export const existingJobs = ({ options, state }: SandboxService): CrawlerJob[] =>
  crawlerJobs(options).filter(({ id }) => !state.deletedJobs.has(id))

type Handler = (service: SandboxService, job: CrawlerJob, request: RouteRequest) => Answer

export function ofJob(handler: Handler): Route['answer'] {
  return (service, request) => {
    const { ids } = request
    const other = otherWorkspace(service, ids.workspaceId!)
    if (other) return other
    const job = existingJobs(service).find(({ id }) => id === ids.jobId)
    return job ? handler(service, job, request) : fault(404, 'Crawler job not found')
  }
}

export function getCrawlerPage({ options }: SandboxService, job: CrawlerJob, { ids }: RouteRequest): Answer {
  const number = job.pages.indexOf(ids.pageId!)
  if (number < 0) return fault(404, 'Page not found')
  const data = crawlerPage(options.seed, options.workspaceId, job, number)
  return jsonAnswer({ success: true, message: 'Page retrieved successfully', data })
}

/** Removes the job and its pages. Section 6.3 has no event for crawler jobs. */
export function deleteCrawlerJob({ state }: SandboxService, { id }: CrawlerJob): Answer {
  state.deletedJobs.add(id)
  return jsonAnswer({ success: true, message: 'Crawler job deleted successfully' })
}

// The workspace's crawler jobs and their scraped pages (section 2.9).

type CrawlerJob = ReturnType<typeof crawlerJobs>[number]

const JOBS = 4

const SITES = ['https://shop.example.com', 'https://help.example.com/de', 'https://例え.example.jp']
const TOPICS = ['returns', 'pricing', 'Garantie', '配送', 'faq', 'contact'] as const
const SENTENCES = [
  'Orders are sent within two working days.',
  'Die Preise verstehen sich **inklusive** Mehrwertsteuer.',
  'La garantie couvre les défauts de fabrication – « sans exception ».',
  '送料は全国一律 500 円です。',
  '| Size | Price |\n|---|---|\n| S | 10 |\n| L | 20 |',
] as const

/** Returns the jobs, deleted ones included. */
function crawlerJobs({ seed, startMs }: { seed: number; startMs: number }) {
  return Array.from({ length: JOBS }, (_, number) => {
    const draw = new Draw(seed, number, PURPOSE.crawler)
    const id = `job_${draw.hex(16)}`
    const pages = Array.from({ length: draw.int(3, 9) }, () => `page_${draw.hex(16)}`)
    return { id, number, startedMs: startMs - (number + 1) * 10 * DAY, pages }
  })
}

/** Returns `data` of the page with that number (from 0) in its job. The third page of a job could not be scraped. */
function crawlerPage(seed: number, workspaceId: string, job: CrawlerJob, number: number) {
  const draw = new Draw(mix(seed, job.number), number, PURPOSE.crawlerPage)
  const failed = number === 2
  const site = draw.pick(SITES)
  const topic = draw.pick(TOPICS)
  const urlHash = draw.hex(40)
  const access = canary(`crawler-token-${number}`, job.number)
  const url = `${site}/${encodeURIComponent(topic)}/${number}${number === 1 ? `?lang=de&token=${access}` : ''}`
  const title = `${topic} – ${number + 1}`
  const markdown = failed ? undefined : markdownOf(draw, title)
  const html =
    markdown && `<!DOCTYPE html><html lang="de"><body><p>${markdown.replaceAll('\n\n', '</p><p>')}</p></body></html>`
  const description = draw.some(0.7, `About ${topic}`)
  const imageUrl = draw.some(0.6, `${site}/og/${topic}.png`)
  const links = Array.from({ length: draw.int(0, 30) }, (_, link) => `${site}/${draw.pick(TOPICS)}?page=${link}`)
  return {
    page: {
      id: job.pages[number]!,
      url,
      urlHash,
      title: failed ? null : title,
      description,
      imageUrl,
      userId: workspaceId,
      scrapedAt: job.startedMs + number * MINUTE,
      mdCharCount: markdown?.length ?? 0,
      htmlCharCount: html?.length ?? 0,
      failed,
    },
    content: {
      urlScraped: url,
      urlHash,
      scrapeResponse: {
        metadata: { title, description, ogImage: imageUrl, favicon: `${site}/favicon.ico` },
        urlScraped: url,
        urlsDiscovered: [...links, `${site}/account?access_token=${access}#top`],
        markdown,
        html,
        err: failed ? scrapeError(site, access) : null,
      },
    },
  }
}

/** Returns an error of the proxy with the secrets that a careless library puts into a message. */
const scrapeError = (site: string, access: string) => ({
  name: 'TimeoutError',
  message: `Navigation to ${site} timed out (proxy http://crawler:${access}@proxy.example.com:8080)`,
  request: { headers: { Authorization: `Bearer ${access}`, Cookie: `sid=${access}` } },
})

/** Writes 2 kB to half a megabyte of Markdown. */
function markdownOf(draw: Draw, title: string): string {
  const paragraphs = Array.from({ length: draw.logarithmic(40, 10_000) }, () => draw.pick(SENTENCES))
  return [`# ${title}`, ...paragraphs].join('\n\n')
}
