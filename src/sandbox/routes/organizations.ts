// GET and DELETE /v3/orgs/{orgId}, GET /v3/orgs/{orgId}/teams (API document, sections 4.13 to 4.15; paging from the
// notes on the API).
import { z } from 'zod'
import { organizationEvent } from '../events/workspace-events.ts'
import { clientsAt, type Organization, organizationRecord, teamRecords } from '../world/organizations.ts'
import { type Answer, fault, jsonAnswer } from './answer.ts'
import { hasMoreAfter, onPage, PAGE_QUERY, readList } from './input.ts'
import type { Route, RouteRequest, SandboxService } from './route.ts'

export const TeamQuery = z.object(PAGE_QUERY)

type Handler = (service: SandboxService, organization: Organization, request: RouteRequest) => Answer

/** Calls the handler with the organization of the path, which is served live, without the mirror's lag. */
export function ofOrganization(handler: Handler): Route['answer'] {
  return (service, request) => {
    const organization = service.organizations.at(request.ids.orgId!, request.nowMs)
    return organization ? handler(service, organization, request) : fault(404, 'Organization not found')
  }
}

export function getOrganization(
  { options, world }: SandboxService,
  organization: Organization,
  { nowMs }: RouteRequest,
): Answer {
  const { seed, workspaceId } = options
  const data = organizationRecord({ organization, seed, workspaceId, agentIds: world.agentIds(), nowMs })
  return jsonAnswer({ success: true, message: 'Organization retrieved successfully', data })
}

export function listTeams(
  { options: { seed, readings } }: SandboxService,
  organization: Organization,
  { params, nowMs }: RouteRequest,
): Answer {
  const read = readList(TeamQuery, params, readings.teamPage)
  if ('refused' in read) return read.refused
  const teams = teamRecords({ organization, seed, nowMs })
  return jsonAnswer({
    success: true,
    message: 'Teams retrieved successfully',
    teams: onPage(teams, read.value),
    total: teams.length,
    hasMore: hasMoreAfter(teams.length, read.value),
  })
}

/** Deletes the organization together with its clients, whose deletions cause no separate events. */
export function deleteOrganization(
  { state, webhooks }: SandboxService,
  organization: Organization,
  { nowMs }: RouteRequest,
): Answer {
  state.deletedOrganizations.set(organization.id, nowMs)
  webhooks.announce(organizationEvent({ ms: nowMs, change: 'deleted', organization, client: undefined }))
  const deletedClientsCount = clientsAt(organization, nowMs).length
  return jsonAnswer({ success: true, message: 'Organization deleted successfully', deletedClientsCount })
}
