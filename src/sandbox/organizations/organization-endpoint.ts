// GET and DELETE /v3/orgs/{orgId}, GET /v3/orgs/{orgId}/teams (API document, sections 4.13 to 4.15; paging as the notes on the
// API settle it).
import type { Answer } from '../answer.ts'
import { fault, jsonAnswer } from '../answer.ts'
import type { ResolvedOptions } from '../options.ts'
import type { Organization } from '../organizations.ts'
import { organizationName } from '../organizations.ts'
import { MAX_PAGE, readCount } from '../read-count.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import type { World } from '../world.ts'
import type { OrganizationList } from './organization-list.ts'
import { clientsAt } from './organization-list.ts'
import { organizationRecord, teamRecords } from './organization-record.ts'

export const TEAM_PARAMS = ['page', 'limit'] as const

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 100

export interface OrganizationService {
  options: ResolvedOptions
  world: World
  organizations: OrganizationList
  webhooks: Webhooks
}

export interface OrganizationRequest {
  kind: 'organization' | 'teams'
  method: string
  organizationId: string
  params: URLSearchParams
  nowMs: number
}

/** Organizations are told as they are now: no mirror is between. */
export function answerOrganization(service: OrganizationService, request: OrganizationRequest): Answer {
  const { organizations } = service
  const { kind, method, organizationId, params, nowMs } = request
  const organization = organizations.at(organizationId, nowMs)
  if (organization === undefined) return fault(404, 'Organization not found')
  if (kind === 'teams') return answerTeams(service, organization, { params, nowMs })
  return method === 'DELETE' ? remove(service, organization, nowMs) : tell(service, organization, nowMs)
}

function tell({ options, world }: OrganizationService, organization: Organization, nowMs: number): Answer {
  const { seed, workspaceId } = options
  const data = organizationRecord({ organization, seed, workspaceId, agentIds: world.agentIds(), nowMs })
  return jsonAnswer({ success: true, message: 'Organization retrieved successfully', data })
}

function answerTeams(
  { options: { seed } }: OrganizationService,
  organization: Organization,
  { params, nowMs }: Pick<OrganizationRequest, 'params' | 'nowMs'>,
): Answer {
  const page = readCount(params, 'page', { otherwise: 1, max: MAX_PAGE })
  const limit = readCount(params, 'limit', { otherwise: DEFAULT_LIMIT, max: MAX_LIMIT })
  if (page === undefined || limit === undefined)
    return fault(400, 'Invalid query', { issues: ['page and limit must be whole numbers from 1'] })
  const teams = teamRecords({ organization, seed, nowMs })
  return jsonAnswer({
    success: true,
    message: 'Teams retrieved successfully',
    teams: teams.slice((page - 1) * limit, page * limit),
    total: teams.length,
    hasMore: page * limit < teams.length,
  })
}

/** Its clients go with it, and no event tells of each. */
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
