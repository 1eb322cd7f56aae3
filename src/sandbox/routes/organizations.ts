// GET and DELETE /v3/orgs/{orgId}, GET /v3/orgs/{orgId}/teams (API document, sections 4.13 to 4.15; paging from the notes
// on the API).
import { z } from 'zod'
import type { SandboxService } from '../service.ts'
import { organizationRecord, teamRecords } from '../world/organization-record.ts'
import { clientsAt, type Organization, organizationName } from '../world/organizations.ts'
import { type Answer, fault, jsonAnswer } from './answer.ts'
import { invalidQuery, listPlace, onPage, PAGE_QUERY, TotalsSchema, totalsOf } from './list-page.ts'
import { NO_QUERY } from './query.ts'
import { envelope, type Route, type RouteRequest } from './route.ts'

const PATH = '/v3/orgs/{orgId}'
const OF_ORGANIZATIONS = { path: PATH, kind: 'organization', faultKind: 'organization', query: NO_QUERY } as const

/** Of the fields of section 2.7, only those that always have a value. */
const OrganizationSchema = z.looseObject({
  ID: z.string(),
  name: z.string(),
  workspaceId: z.string(),
  widgetIDs: z.array(z.string()),
  teams: z.array(z.looseObject({ ID: z.string(), key: z.string() })),
})

const TeamSchema = z.object({
  ID: z.string(),
  orgId: z.string(),
  key: z.string(),
  label: z.string(),
  description: z.string(),
  memberIds: z.array(z.string()),
  ts: z.number(),
  lastModified: z.number(),
})

export const ORGANIZATION_ROUTES: readonly Route[] = [
  {
    ...OF_ORGANIZATIONS,
    method: 'GET',
    operation: 'getOrganization',
    summary: 'Get organization',
    response: envelope({ data: OrganizationSchema }),
    answer: existing(describe),
  },
  {
    ...OF_ORGANIZATIONS,
    method: 'DELETE',
    operation: 'deleteOrganization',
    summary: 'Delete organization',
    response: envelope({ deletedClientsCount: z.int().min(0) }),
    answer: existing(remove),
  },
  {
    method: 'GET',
    path: `${PATH}/teams`,
    kind: 'teams',
    faultKind: 'organization',
    operation: 'listTeams',
    summary: 'List organization teams',
    query: z.object(PAGE_QUERY),
    response: envelope({ teams: z.array(TeamSchema), ...TotalsSchema }),
    answer: existing(listTeams),
  },
]

type Handler = (service: SandboxService, organization: Organization, request: RouteRequest) => Answer

/** Organizations are served live, without the mirror's lag. */
function existing(handler: Handler): Route['answer'] {
  return (service, request) => {
    const organization = service.organizations.at(request.ids.orgId!, request.nowMs)
    return organization ? handler(service, organization, request) : fault(404, 'Organization not found')
  }
}

function describe({ options, world }: SandboxService, organization: Organization, { nowMs }: RouteRequest): Answer {
  const { seed, workspaceId } = options
  const data = organizationRecord({ organization, seed, workspaceId, agentIds: world.agentIds(), nowMs })
  return jsonAnswer({ success: true, message: 'Organization retrieved successfully', data })
}

function listTeams(
  { options: { seed, readings } }: SandboxService,
  organization: Organization,
  { params, nowMs }: RouteRequest,
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
function remove({ state, webhooks }: SandboxService, organization: Organization, { nowMs }: RouteRequest): Answer {
  state.record({ type: 'deleted-organization', ms: nowMs, organizationId: organization.id })
  webhooks.announce('organisation_deleted', {
    organisationId: organization.id,
    organisationName: organizationName(organization, nowMs),
    operation: 'deleted',
  })
  const deletedClientsCount = clientsAt(organization, nowMs).length
  return jsonAnswer({ success: true, message: 'Organization deleted successfully', deletedClientsCount })
}
