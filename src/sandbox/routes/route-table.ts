// Every route of the API that the sandbox serves, in the document's order.

import {
  AuditQuery,
  createTool,
  createVariable,
  getAuditLog,
  getMetric,
  listTools,
  listVariables,
  ofAgent,
  updateMetric,
} from './agent-resources.ts'
import { SearchQuery, searchAgents } from './agents.ts'
import { exportConversations } from './export.ts'
import { ExportParams } from './export-query.ts'
import { deleteOrganization, getOrganization, listTeams, ofOrganization, TeamQuery } from './organizations.ts'
import type { Route } from './route.ts'
import { listVoices, VoiceQuery } from './voices.ts'
import { deleteCrawlerJob, getCrawlerPage, ofJob, updateWorkspace } from './workspaces.ts'

const TOOLS = { path: '/v3/agents/{agentId}/tools', kind: 'tools' } as const
const VARIABLES = { path: '/v3/agents/{agentId}/variables', kind: 'variables' } as const
const AUDIT_LOG = { path: '/v3/agents/{agentId}/audit-log', kind: 'audit', query: AuditQuery } as const
const WORKSPACE = { path: '/v3/workspaces/{id}', kind: 'workspace' } as const
const METRIC = { path: '/v3/agents/{agentId}/custom-metrics/{metricId}', kind: 'metric' } as const
const VOICES = { path: '/v3/voices', kind: 'voices', query: VoiceQuery } as const
const JOB = { path: '/v3/workspaces/{workspaceId}/crawler/jobs/{jobId}', kind: 'crawler' } as const
const EXPORT = { path: '/v3/agents/{agentId}/convos/export', kind: 'export', query: ExportParams } as const
const ORGANIZATION = { path: '/v3/orgs/{orgId}', kind: 'organization' } as const
const TEAMS = { path: '/v3/orgs/{orgId}/teams', kind: 'teams', query: TeamQuery } as const
const SEARCH = { path: '/v3/agents/search', kind: 'search', query: SearchQuery } as const

export const ROUTES: readonly Route[] = [
  { ...TOOLS, method: 'POST', answer: ofAgent(createTool) },
  { ...TOOLS, method: 'GET', answer: ofAgent(listTools) },
  { ...VARIABLES, method: 'POST', answer: ofAgent(createVariable) },
  { ...VARIABLES, method: 'GET', answer: ofAgent(listVariables) },
  { ...AUDIT_LOG, method: 'GET', answer: ofAgent(getAuditLog) },
  { ...WORKSPACE, method: 'PATCH', answer: updateWorkspace },
  { ...METRIC, method: 'GET', answer: ofAgent(getMetric) },
  { ...METRIC, method: 'PUT', answer: ofAgent(updateMetric) },
  { ...VOICES, method: 'GET', answer: listVoices },
  { ...JOB, path: `${JOB.path}/pages/{pageId}`, method: 'GET', answer: ofJob(getCrawlerPage) },
  { ...JOB, method: 'DELETE', answer: ofJob(deleteCrawlerJob) },
  { ...EXPORT, method: 'GET', metered: true, answer: exportConversations },
  { ...ORGANIZATION, method: 'GET', answer: ofOrganization(getOrganization) },
  { ...TEAMS, method: 'GET', answer: ofOrganization(listTeams) },
  { ...ORGANIZATION, method: 'DELETE', answer: ofOrganization(deleteOrganization) },
  { ...SEARCH, method: 'GET', answer: searchAgents },
]
