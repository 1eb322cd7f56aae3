// Expected rows of agents, organizations and teams, derived from the field lists of the API document (sections 2.7, 2.8 and 2.12)
// and the generator's records. Times are numbers, in ms.

import { resolveOptions, type SandboxOptions } from '../../../src/sandbox/options.ts'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import { organizationRecord, teamRecords } from '../../../src/sandbox/world/organization-record.ts'
import { OrganizationList } from '../../../src/sandbox/world/organizations.ts'
import { type ExpectedRow, type ExpectedTables, snake, timeMs, words } from './expected-rows.ts'

type Json = Record<string, unknown>

interface Fields {
  plain: string[]
  times: string[]
  /** Columns whose name differs from their key. */
  named: Record<string, string>
  groups: Record<string, string[]>
}

const AGENT: Fields = {
  plain:
    words(`ID title description ownerID storageID theme agentPlatform region disabled isDeployed deployed starred recordChatHistory
    gdprCompliance disableRating disableHumanHandoff alwaysShowHandoff manualControl enableNodes webhookUrl
    showHandoffEvenIfOffline persistHandoffOnRefresh blockInputDuringHandoffRequest`),
  times: words('createdAtUNIX lastModified'),
  named: { ID: 'agent_id', createdAtUNIX: 'created_at' },
  groups: {
    limits:
      words(`maxInteractionsPerUserId enableTextIpRateLimit maxTextInteractionsPerIp textIpRateLimitWindowHours maxAnnualCreditsUsage
      maxMonthlyCreditsUsage maxMessages maxMessagesRetentionDays inactiveChatRetentionDays analyticsRetentionDays`),
    advanced: ['serverUrl'],
    marketplace:
      words(`enabled category creatorDisplayName shortDescription version demoUrl videoUrl supportEmail allowCanvasPreview
      allowTryAgent likeCount downloadCount`),
    'voiceConfig.transcriber': words('provider modelId language patienceFactor utteranceThreshold inputVoiceEnhancer'),
    'voiceConfig.transcriber.speechConfig': words('format sampleRate language'),
    'voiceConfig.speechGen':
      words(`provider modelId voiceId language region highAudioQuality backgroundNoise backChannelling
      backchannelInterval`),
    'voiceConfig.config': words('recordAudio backgroundNoise enableWebCalling enableVoiceUiPresenter'),
  },
}

const ORGANIZATION: Fields = {
  plain:
    words(`ID name email type status firebaseUid agencyId userId ownerID orgId workspaceId squarePhotoURL dashboardUsername
    dashboardLayout widgets canAccess allowedChannels allowedIntegrations clientTabOrder defaultClientAccess defaultClientTabOrder isAdmin
    isOrgAdmin canDelegateChats canSelfEdit allowCreateAgents hideAdvancedSettings enableHumanHandoff isNewSignup index signupSource
    preferredLanguage stripeCustomerId predefinedTags convoTags cannedResponses internal teams`),
  times: words('ts lastModified lastEmailSentTS lastInvitationTs'),
  named: {
    ID: 'organization_id',
    workspaceId: 'reported_workspace_id',
    squarePhotoURL: 'square_photo_url',
    lastEmailSentTS: 'last_email_sent_at',
    lastInvitationTs: 'last_invitation_at',
  },
  groups: {
    notificationsSettings: words('notifyThrough notifyIf emailNotifyOnNewLead'),
    handoff: ['maxAssignees'],
    settings: ['disableClientAccess'],
    onboardingState: words('currentStep isCompleted completedSteps personalInfo preferences setupData'),
  },
}

const TEAM: Fields = {
  plain: words('ID orgId key label description'),
  times: words('ts lastModified'),
  named: { ID: 'team_id', orgId: 'organization_id', key: 'team_key' },
  groups: {},
}

function rowOf(record: Json, { plain, times, named, groups }: Fields): ExpectedRow {
  const row: ExpectedRow = {}
  for (const key of plain) row[named[key] ?? snake(key)] = record[key] ?? null
  for (const key of times) row[named[key] ?? snake(key)] = timeMs(record[key])
  for (const [group, keys] of Object.entries(groups)) {
    const path = group.split('.')
    const inner = path.reduce((object, key) => (object[key] ?? {}) as Json, record)
    for (const key of keys) row[`${path.map(snake).join('_')}_${snake(key)}`] = inner[key] ?? null
  }
  return row
}

const placed = (values: unknown, column: string, row: ExpectedRow): ExpectedRow[] =>
  ((values ?? []) as unknown[]).map((value, index) => ({ ...row, position: index + 1, [column]: value }))

/** The record as it is stored: channels are spelled `webchat`, and the access keys of widgets are removed. */
const asLanded = (record: Json): Json => ({
  ...record,
  allowedChannels: (record.allowedChannels as string[]).map(channel => channel.replace('web-chat', 'webchat')),
  widgets: (record.widgets as Json[]).map(({ apiKey: _secret, ...widget }) => widget),
})

interface Node {
  id: string
  toolsIds: string[]
  childrenNodes: { nodeId: string; condition: string }[]
}

/** Tables of an agent, without those that hold settings from which secrets are removed. */
function agentTables(record: Json): [string, ExpectedRow[]][] {
  const { marketplace, tools, assignedToolsIds, kbTags, convoTags } = record as Record<string, Json[]>
  const { priceUSD, listedAt, updatedAt, tags } = marketplace as unknown as Record<string, unknown>
  const of = { agent_id: record.ID }
  const nodes = (record.nodes as Node[]).map((node, index) => ({
    ...node,
    of: { ...of, node_id: node.id, node_position: index + 1 },
  }))
  const tag = (kind: string, list: unknown) => (list as string[]).map(tag => ({ ...of, kind, tag }))
  return [
    [
      'agents',
      [
        {
          ...rowOf(record, AGENT),
          // `deployed` may be an object or a string, and is stored as JSON text.
          deployed: JSON.stringify(record.deployed),
          is_starred: record.starred,
          marketplace_price_usd: priceUSD,
          marketplace_listed_at_text: String(listedAt),
          marketplace_listed_at: timeMs(listedAt),
          marketplace_updated_at_text: String(updatedAt),
          marketplace_updated_at: timeMs(updatedAt),
        },
      ],
    ],
    [
      'agent_node_edges',
      nodes.flatMap(node =>
        node.childrenNodes.map(({ nodeId, condition }, index) => ({
          ...node.of,
          position: index + 1,
          child_node_id: nodeId,
          condition,
        })),
      ),
    ],
    ['agent_node_tools', nodes.flatMap(node => placed(node.toolsIds, 'tool_id', node.of))],
    [
      'agent_tools',
      placed(assignedToolsIds, 'tool_id', { ...of, is_assigned: true }).map(row => ({
        ...row,
        tool_name: tools!.find(({ id }) => id === row.tool_id)?.name ?? null,
      })),
    ],
    [
      'agent_tags',
      [...tag('kb', kbTags), ...tag('conversation', convoTags), ...tag('marketplace', tags)].map((row, index) => ({
        ...row,
        position: index + 1,
      })),
    ],
  ]
}

function organizationTables(record: Json): [string, ExpectedRow[]][] {
  const of = { organization_id: record.ID }
  const members = (role: string, ids: unknown) => placed(ids, 'user_id', { ...of, role })
  return [
    ['organizations', [rowOf(asLanded(record), ORGANIZATION)]],
    ['organization_agents', placed(record.widgetIDs, 'agent_id', of)],
    ['organization_members', [...members('admin', record.adminIDs), ...members('support', record.supportIDs)]],
  ]
}

const teamTables = (record: Json): [string, ExpectedRow[]][] => [
  ['teams', [rowOf(record, TEAM)]],
  ['team_members', placed(record.memberIds, 'user_id', { team_id: record.ID })],
]

/** Tables of all agents, and of the organizations with these ids and their teams. */
export function expectedListings(
  { world, clock }: Sandbox,
  given: Partial<SandboxOptions>,
  organizationIds: readonly string[],
): ExpectedTables {
  const options = resolveOptions(given)
  const organizations = new OrganizationList(options)
  const nowMs = clock.now()
  const found = world.agentIds().flatMap(id => agentTables(world.agent(id)!))
  for (const id of organizationIds) {
    const organization = organizations.at(id, nowMs)
    if (organization === undefined) continue
    const recorded = { ...options, organization, agentIds: world.agentIds(), nowMs }
    found.push(...organizationTables(organizationRecord(recorded)))
    found.push(...teamRecords(recorded).flatMap(team => teamTables({ ...team })))
  }
  const tables: ExpectedTables = new Map()
  for (const [table, rows] of found) tables.set(table, [...(tables.get(table) ?? []), ...rows])
  return tables
}
