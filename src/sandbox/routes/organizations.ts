// GET and DELETE /v3/orgs/{orgId}, GET /v3/orgs/{orgId}/teams (API document, sections 4.13 to 4.15; paging from the notes
// on the API).
import type { ResolvedOptions } from '../options.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import { organizationRecord, teamRecords } from '../world/organization-record.ts'
import { clientsAt, type Organization, type OrganizationList, organizationName } from '../world/organizations.ts'
import type { World } from '../world/world.ts'
import { type Answer, fault, jsonAnswer } from './answer.ts'
import { invalidQuery, listPlace, onPage, totalsOf } from './list-page.ts'

export const TEAM_PARAMS = ['page', 'limit'] as const

interface OrganizationService {
  options: ResolvedOptions
  world: World
  organizations: OrganizationList
  webhooks: Webhooks
}

interface OrganizationRequest {
  kind: 'organization' | 'teams'
  method: string
  organizationId: string
  params: URLSearchParams
  nowMs: number
}

/** Organizations are served live, without the mirror's lag. */
export function answerOrganization(service: OrganizationService, request: OrganizationRequest): Answer {
  const { organizations, options } = service
  const { kind, method, organizationId, params, nowMs } = request
  if (kind === 'organization' && options.readings['unknown-params'] === 'refused' && params.size > 0)
    return invalidQuery([...new Set(params.keys())].map(name => `${name} is not known`))
  const organization = organizations.at(organizationId, nowMs)
  if (organization === undefined) return fault(404, 'Organization not found')
  if (kind === 'teams') return answerTeams(service, organization, { params, nowMs })
  return method === 'DELETE' ? remove(service, organization, nowMs) : describe(service, organization, nowMs)
}

function describe({ options, world }: OrganizationService, organization: Organization, nowMs: number): Answer {
  const { seed, workspaceId } = options
  const data = organizationRecord({ organization, seed, workspaceId, agentIds: world.agentIds(), nowMs })
  return jsonAnswer({ success: true, message: 'Organization retrieved successfully', data })
}

function answerTeams(
  { options: { seed, readings } }: OrganizationService,
  organization: Organization,
  { params, nowMs }: Pick<OrganizationRequest, 'params' | 'nowMs'>,
): Answer {
  const list = {
    params: readings['team-params'],
    most: readings['team-page'] === 'asked' ? undefined : Number(readings['team-page']),
    totals: readings['team-totals'],
  }
  const place = listPlace(params, list)
  if ('issues' in place) return invalidQuery(place.issues)
  const teams = teamRecords({ organization, seed, nowMs })
  return jsonAnswer({
    success: true,
    message: 'Teams retrieved successfully',
    teams: onPage(teams, place),
    ...totalsOf(teams.length, place, list),
  })
}

/** Deletes the organization together with its clients; the clients' deletions have no events of their own. */
function remove({ organizations, webhooks }: OrganizationService, organization: Organization, nowMs: number): Answer {
  organizations.delete(organization.id, nowMs)
  webhooks.announce('organisation_deleted', {
    organisationId: organization.id,
    organisationName: organizationName(organization, nowMs),
    operation: 'deleted',
  })
  const deletedClientsCount = clientsAt(organization, nowMs).length
  return jsonAnswer({ success: true, message: 'Organization deleted successfully', deletedClientsCount })
}
