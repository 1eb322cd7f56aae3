// PATCH /v3/workspaces/{id} (API document, sections 2.6 and 4.6).
import { z } from 'zod'
import type { SandboxService } from '../service.ts'
import { STAFF } from '../world/staff.ts'
import { type Answer, fault, jsonAnswer } from './answer.ts'
import { readBody } from './body.ts'
import { NO_QUERY } from './query.ts'
import { envelope, type Route, type RouteRequest } from './route.ts'

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

export const WORKSPACE_ROUTE: Route = {
  method: 'PATCH',
  path: '/v3/workspaces/{id}',
  kind: 'workspace',
  faultKind: 'workspace',
  operation: 'updateWorkspace',
  summary: 'Update workspace',
  query: NO_QUERY,
  body: Body,
  response: envelope({
    data: z.object({
      uid: z.string(),
      email: z.string(),
      displayName: z.string(),
      workspaceName: z.string(),
      workspaceEmails: z.array(z.string()),
      photoURL: z.string(),
      region: z.string(),
      hasEverPaid: z.boolean(),
    }),
  }),
  errors: [403, 409],
  answer: updateWorkspace,
}

/** Usernames of other workspaces on the marketplace; case does not matter. */
const TAKEN = ['convo-studio', 'nova-labs', 'deskpilot']
const CONFLICT = { '400': 400, '409': 409 } as const

/** The answer to a request for another workspace than that of the token; undefined for the right one. */
export function otherWorkspace({ options }: SandboxService, workspaceId: string): Answer | undefined {
  return workspaceId === options.workspaceId ? undefined : fault(403, 'The token belongs to another workspace')
}

/** Changes the given fields only. Section 6.3 has no event of workspaces. */
function updateWorkspace(service: SandboxService, { ids, body, nowMs }: RouteRequest): Answer {
  const { options, state } = service
  const read = readBody(Body, body, options.readings)
  if ('refused' in read) return read.refused
  const other = otherWorkspace(service, ids.id!)
  if (other) return other
  const { updates } = read.value
  const username = updates.marketplaceProfile?.username
  if (username !== undefined && TAKEN.includes(username.toLowerCase()))
    return fault(CONFLICT[options.readings['username-taken']], `The username ${JSON.stringify(username)} is taken`)
  if (Object.keys(updates).length > 0) state.record({ type: 'workspace', ms: nowMs, updates })
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
