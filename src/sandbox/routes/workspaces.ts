// PATCH /v3/workspaces/{id}, and the workspace's crawler jobs (API document, sections 2.6, 2.9, 4.6, 4.10 and 4.11).

import { z } from 'zod'
import { type CrawlerJob, crawlerJobs, crawlerPage } from '../world/crawler.ts'
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

/** Usernames of other workspaces on the marketplace; case does not matter. */
const TAKEN = ['convo-studio', 'nova-labs', 'deskpilot']

/** The answer to a request for another workspace than that of the token; undefined for the right one. */
function otherWorkspace({ options }: SandboxService, workspaceId: string): Answer | undefined {
  return workspaceId === options.workspaceId ? undefined : fault(403, 'The token belongs to another workspace')
}

/** Changes the given fields only. Section 6.3 has no event of workspaces. */
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

/** The fields of section 2.6, which are not all that can be changed. */
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

/** The jobs that callers have not deleted. */
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

/** Removes the job and its pages. Section 6.3 has no event of crawler jobs. */
export function deleteCrawlerJob({ state }: SandboxService, { id }: CrawlerJob): Answer {
  state.deletedJobs.add(id)
  return jsonAnswer({ success: true, message: 'Crawler job deleted successfully' })
}
