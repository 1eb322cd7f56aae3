// Puts canaries into every column of personal data, by rows and by real pages and events. None reaches a target that
// hashes and drops, nor a package for it, and each reaches one that keeps.
import { createHmac } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { conversation } from '../../src/catalog/conversation/conversation.ts'
import { EVENT_TYPES } from '../../src/catalog/events/event-types.ts'
import { agent } from '../../src/catalog/resources/agents.ts'
import { ORGANIZATIONS, TEAMS } from '../../src/catalog/resources/organizations.ts'
import { RESOURCES } from '../../src/catalog/resources/resources.ts'
import type { ParquetTarget } from '../../src/config/targets/parquet.ts'
import type { SnapshotTarget } from '../../src/config/targets/snapshot.ts'
import { hashKey } from '../../src/publish/pii.ts'
import { publishedRelations } from '../../src/publish/selection.ts'
import { applyTo, eventOf } from '../warehouse/events/events-in.ts'
import {
  AGENT,
  landAgents,
  landConversations,
  landOrganization,
  landRecord,
  landTeams,
  SENT_AT_MS,
} from '../warehouse/landed-pages.ts'
import { temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'
import {
  canariesIn,
  canary,
  keptPackage,
  packageKeeper,
  personalColumns,
  plantCanaries,
  plantedFields,
} from './canaries.ts'
import { DEFAULT, newTarget, publishTo, reading } from './published.ts'
import { newParquet } from './published-parquet.ts'

/** Fields of the API document that may describe a person, or whose shape or text it does not state. */
const PERSONAL = {
  conversation: `userEmail userName userPhone userAddress userCompany userWebsite notes note userProfilePic userImage socialHandle linkedIn
    instagram demoLink lostReason userID userOs userBrowser ipAddress browserTimezone contactIdentityId crossChannelContext notifyToUserId origin
    smbContactName archivedBy resolvedBy resolvedByEmail lastResolvedAssigneeId reopenReason delegatedBy chatAssignedTo chatAssignedToIds summary
    shortSummary funnelSummary assignedTo.userId assignedTo.name assignedTo.email assignedTo.photoUrl assignedTo.note assignedToUsers.userId
    assignedToUsers.name assignedToUsers.email assignedToUsers.photoUrl assignedToUsers.note handoffHistory.acceptedBy externalSession.sessionKey
    ext.recordingUrl ext.syncRecordingUrl ext.callerPhoneNumber ext.calleePhoneNumber ext.callError voice.listenUrl csat.comment
    inboundEngagementState.lastDecisionReason crmActivities.title crmActivities.note crmActivities.notesHistory.text
    crmActivities.notesHistory.agentId crmActivities.notesHistory.agentName crmActivities.metadata capturedVariables.value_text
    capturedVariables.more campaignCalls.call_id campaignCalls.more sessions.more metrics.value_text metrics.more funnelStepsMatched.more
    funnelScoreHistory.reason funnelScoreHistory.more funnelExtractedData.value_text unknown`,
  organization: `email firebaseUid userId ownerID dashboardUsername widgets adminIDs supportIDs stripeCustomerId cannedResponses internal teams
    onboardingState.personalInfo onboardingState.preferences onboardingState.setupData unknown`,
  agent: 'ownerID webhookUrl unknown',
  team: 'memberIds unknown',
  message_received: 'messageContent from unknown',
  lead_captured: 'leadName leadEmail leadPhone unknown',
  form_submitted: 'formData.answer unknown',
  chat_delegated: `assignedToUserId assignedToUserName assignedToUserEmail delegatedByUserId delegatedByUserName customerName customerEmail
    customerPhone unknown`,
  bug_reported: 'bugDescription imageUrl reportedByUserId reportedByUserName reportedByUserEmail unknown',
  client_created: 'clientName clientEmail',
  turns: 'text from unknown',
}

/** The texts that a publication contains although every class is dropped, by the reason. */
const REMAINING = {
  'ids, by which tables join': `agent.nodes.childrenNodes.nodeId agent.nodes.id agent.nodes.toolsIds agent.storageID
    agent.voiceConfig.speechGen.voiceId audit_log.agentId client_created.clientId client_deleted.clientId client_updated.clientId
    conversation.campaignCalls.campaign_id conversation.campaignId conversation.crmActivities.id conversation.externalSession.projectId
    conversation.handoffHistory.organizationId conversation.handoffHistory.teamIds conversation.metrics.metric_id
    conversation.voice.latestSessionId conversation_updated.sessionId crawler_pages.content.urlHash crawler_pages.jobId crawler_pages.page.id
    crawler_pages.page.urlHash crawler_pages.pageId organization.agencyId organization.orgId organization.workspaceId tools.agentId tools.extId
    tools.fields.agentId tools.fields.id tools.variablesIds variables.agentId voices.voiceId`,
  'keys of teams, by which tables join': `conversation.handoffHistory.requestedTeamKey conversation.handoffHistory.teamKeys
    conversation.requestedTeamKey team.key`,
  "the business's own accounts of WhatsApp": `conversation.whatsappBusinessAccountId conversation.whatsappBusinessNumber
    conversation.whatsappDisplayPhoneNumber conversation.whatsappPhoneNumberId`,
  'names of what the workspace configured, without which figures cannot be read': `agent.nodes.name agent.title organization.name team.label
    tools.name voices.name voices.provider bug_reported.agentName chat_delegated.agentName form_submitted.agentName lead_captured.agentName
    message_received.agentName client_created.organisationName client_deleted.organisationName client_updated.organisationName`,
}

const app = temporaryWarehouse()
let entry: URL

/** Returns a record of every kind that the API sends, with a canary in each of its texts. */
async function plantByApi(): Promise<void> {
  const place = app.workspace()
  const ts = Date.UTC(2026, 10, 2)
  const record = {
    ...plantedFields(conversation.fields, 'conversation'),
    ID: 'c',
    ts,
    firstMessageTS: ts,
    lastModified: ts,
  }
  const sent = { success: true, data: [record] }
  await place.load(await landConversations(place.landing, { body: JSON.stringify(sent) }))
  await place.load(
    await landAgents(place.landing, { agents: [{ ...plantedFields(agent.fields, 'agent'), ID: AGENT }] }),
  )
  const organization = { ...plantedFields(ORGANIZATIONS.record.fields, 'organization'), ID: 'o', widgetIDs: [AGENT] }
  await place.load(await landOrganization(place.landing, { id: 'o', data: organization }))
  const team = { ...plantedFields(TEAMS.record.fields, 'team'), ID: 't', orgId: 'o' }
  const others = RESOURCES.filter(({ stream }) => !['agents', 'organizations', 'teams'].includes(stream))
  for (const resource of others) {
    const { record, stream } = resource
    const planted = { ...plantedFields(record.fields, stream), [record.id.key]: `${stream}-1` }
    const requestedId = resource.parent === 'agents' && resource.ids === undefined ? AGENT : `${stream}-1`
    await place.load(
      await landRecord(place.landing, {
        resource,
        record: planted,
        ids: ['j', 'p'],
        requestedId,
        requestedAgentId: AGENT,
      }),
    )
  }
  await place.load(await landTeams(place.landing, { id: 'o', teams: [team] }))
  const ids = { agentId: AGENT, convoId: 'c', organisationId: 'o', createdAt: SENT_AT_MS }
  const { ID: _, ...light } = record
  const turns = [
    {
      from: canary('turns.from'),
      messages: [{ text: canary('turns.text'), unknownField: canary('turns.unknown') }],
      ts,
    },
  ]
  const events = EVENT_TYPES.map(({ name, fields }) => {
    const common = Object.fromEntries(Object.entries(ids).filter(([key]) => key in fields || key === 'createdAt'))
    const talk = name === 'conversation_updated' ? { turns, messagesHistory: turns, lightConvoData: light } : {}
    return eventOf(name, { ...plantedFields(fields, name), ...common, ...talk })
  })
  await applyTo(place, ...events)
}

const personalOfApi = (): string[] =>
  Object.entries(PERSONAL).flatMap(([record, fields]) => fields.split(/\s+/).map(field => canary(`${record}.${field}`)))

/** Writes the same address and number into two tables, in different notations. */
async function plantEve(): Promise<void> {
  const { writer } = app.warehouse
  await writer.run(`INSERT INTO leads (workspace_id, event_id, lead_email, lead_phone) VALUES
    ('w', '1', ' Eve@Example.com', '+49 (30) 123-456'), ('w', '2', 'Eve <eve@example.COM>', '004930123456'), ('w', '3', NULL, '')`)
  await writer.run(`INSERT INTO conversations (workspace_id, agent_id, conversation_id, user_email, user_id) VALUES
    ('w', 'a', '1', 'eve@example.com', '4930123456')`)
}

type FileTarget = SnapshotTarget | ParquetTarget

const byAgent = (): ParquetTarget => newParquet(app.home, { partitionBy: ['agent', 'month'] })

let personal: string[]
let snapshot: SnapshotTarget

beforeAll(async () => {
  await plantByApi()
  await plantCanaries(app.warehouse.writer)
  await plantEve()
  entry = packageKeeper(app.home)
  personal = [...personalOfApi(), ...(await personalColumns()).map(canary)].sort()
  snapshot = newTarget(app.home, { pii: DEFAULT })
})

/** Publishes and searches the target and the package from which its process wrote it. A refill of a snapshot has none. */
async function publishedCanaries(target: FileTarget): Promise<string[][]> {
  await publishTo(app, target, { entry })
  return Promise.all([target.path, ...(target.type === 'snapshot' ? [] : [keptPackage(target)])].map(canariesIn))
}

describe('personal data', () => {
  it('is hashed or dropped before it reaches a target or a package for it, by class, and is in both where it is kept', async () => {
    expect(personal.length).toBeGreaterThan(250)
    for (const found of await publishedCanaries(byAgent()))
      expect(personal.filter(each => !found.includes(each))).toEqual([])
    const columns = (await publishedRelations()).flatMap(({ name, columns }) =>
      columns.filter(({ pii }) => pii === 'device').map(column => canary(`${name}.${column.name}`)),
    )
    const device = ['userOs', 'userBrowser', 'ipAddress', 'browserTimezone'].map(name => canary(`conversation.${name}`))
    const keepingOne = { identity: 'hash', staff: 'drop', device: 'keep', content: 'drop', label: 'keep' } as const
    for (const [target, kept] of [
      [snapshot, []],
      [{ ...byAgent(), pii: keepingOne }, [...columns, ...device].sort()],
    ] as const)
      for (const found of await publishedCanaries(target)) {
        expect(personal.filter(each => found.includes(each))).toEqual(kept)
        // Titles, tags and the like are not personal data.
        expect(found).toContain(canary('conversation.tags'))
      }
  })

  it('leaves ids and configured names where all classes are dropped: every other text is gone, or a word', async () => {
    const target = newTarget(app.home, {
      pii: { identity: 'drop', staff: 'drop', device: 'drop', content: 'drop', label: 'drop' },
    })
    const remaining = Object.values(REMAINING).flatMap(places => places.split(/\s+/).map(canary))
    expect(await publishedCanaries(target)).toEqual([remaining.sort()])
  })

  it('is NULL where it is dropped, also in numbers; hashes keep the rows of a hashed key apart', async () => {
    await reading(snapshot.path, async rows => {
      expect(await rows('SELECT count(user_email)::INT, count(origin)::INT FROM conversations')).toEqual([[3, 0]])
      expect(await rows('SELECT count(*)::INT, count(value_number)::INT FROM conversation_metrics')).toEqual([[3, 0]])
      const ids = 'count(DISTINCT user_id) FILTER (length(user_id) = 64)::INT'
      const [[people, hashes]] = (await rows(`SELECT count(*)::INT, ${ids} FROM marts.dim_people`)) as [
        [number, number],
      ]
      expect(people).toBeGreaterThan(10)
      expect(hashes).toBe(people)
    })
  })

  it('is hashed so that equal addresses and telephone numbers join across tables', async () => {
    const key = await hashKey(app.home)
    const hash = (text: string) => createHmac('sha256', key).update(text).digest('hex')
    const eve = [hash('eve@example.com'), hash('4930123456')]
    await reading(snapshot.path, async rows => {
      const leads = await rows(`SELECT lead_email, lead_phone FROM leads WHERE workspace_id = 'w' ORDER BY event_id`)
      expect(leads).toEqual([eve, eve, [null, '']])
      expect(await rows(`SELECT user_email, user_id FROM conversations WHERE workspace_id = 'w'`)).toEqual([eve])
    })
  })
})
