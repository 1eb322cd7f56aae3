// Two clients of one agency: no name of the other client's agents, people, teams and organization reaches the first
// client's targets or the packages for them. Both share an agent and a person.
import { expect, it } from 'vitest'
import { conversation } from '../../src/catalog/conversation/conversation.ts'
import { agent } from '../../src/catalog/resources/agents.ts'
import { ORGANIZATIONS, TEAMS } from '../../src/catalog/resources/organizations.ts'
import type { ParquetTarget } from '../../src/config/targets/parquet.ts'
import type { SnapshotTarget } from '../../src/config/targets/snapshot.ts'
import { isDeep } from '../tier.ts'
import { applyTo, eventOf } from '../warehouse/events/events-in.ts'
import {
  freshWindow,
  landAgents,
  landConversations,
  landOrganization,
  landTeams,
  SENT_AT_MS,
} from '../warehouse/landed-pages.ts'
import { temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'
import { CANARY, canariesIn, canary, keptPackage, packageKeeper, plantedFields } from './canaries.ts'
import { DEFAULT, newTarget, publishTo } from './published.ts'
import { newParquet } from './published-parquet.ts'

const app = temporaryWarehouse()
const CLIENTS = ['client_a', 'client_b'] as const
type Client = (typeof CLIENTS)[number]

let minute = 0
const nextMs = (): number => SENT_AT_MS + ++minute * 60_000

const conversationId = (client: Client): string => canary(`${client}.id`)

async function loadConversation(place: ReturnType<typeof app.workspace>, client: Client, version: string) {
  const sentAtMs = nextMs()
  const record = {
    ...plantedFields(conversation.fields, `${client}.${version}`),
    ID: conversationId(client),
    ts: SENT_AT_MS,
    lastModified: sentAtMs,
    // Marts show the newest name of a person.
    chatAssignedTo: 'person',
    resolvedBy: 'person',
    csat: { satisfaction10: 9, comment: canary(`${client}.${version}.comment`) },
    assignedTo: { userId: 'person', name: canary(`${client}.${version}.person`) },
    // A conversation of the first client was also assigned to a team of the second.
    handoffHistory: [
      {
        organizationId: 'org-client_b',
        teamIds: ['team-client_b'],
        teamKeys: ['support'],
        requestedTeamKey: 'support',
        acceptedBy: 'person',
      },
    ],
  }
  const window = freshWindow({ agentId: `agent-${client}` })
  await place.load(await landConversations(place.landing, { records: [record], window, sentAtMs }))
  const event = { agentId: `agent-${client}`, convoId: record.ID, createdAt: sentAtMs }
  await applyTo(
    place,
    eventOf('message_received', { ...event, messageContent: canary(`${client}.${version}.message`) }),
    eventOf('conversation_updated', { ...event, turns: [{ role: 'user', text: canary(`${client}.${version}.turn`) }] }),
  )
}

async function loadOrganization(
  place: ReturnType<typeof app.workspace>,
  client: Client,
  agents: readonly string[] | null,
) {
  const id = `org-${client}`
  const fields = plantedFields(ORGANIZATIONS.record.fields, `${client}.organization`)
  const data = agents && { ...fields, ID: id, widgetIDs: agents }
  await place.load(await landOrganization(place.landing, { id, data, sentAtMs: nextMs() }))
}

async function loadClients(): Promise<ReturnType<typeof app.workspace>> {
  const place = app.workspace()
  const agents = [...CLIENTS, 'shared'].map(name => ({ ...plantedFields(agent.fields, name), ID: `agent-${name}` }))
  await place.load(await landAgents(place.landing, { agents }))
  for (const client of CLIENTS) {
    await loadOrganization(place, client, [`agent-${client}`, 'agent-shared'])
    const id = `org-${client}`
    const team = {
      ...plantedFields(TEAMS.record.fields, `${client}.team`),
      ID: `team-${client}`,
      orgId: id,
      key: 'support',
    }
    await place.load(await landTeams(place.landing, { id, teams: [team] }))
    await loadConversation(place, client, 'first')
  }
  return place
}

it('receive nothing of each other, also after changes, a move of an agent, and when the first client is gone', async () => {
  const place = await loadClients()
  const entry = packageKeeper(app.home)
  const rows = { agents: [], organizations: ['org-client_a'] }
  const snapshot = newTarget(app.home, { rows })
  const parquet = newParquet(app.home, { rows, partitionBy: ['agent', 'month'] })

  const publishedTo = async (target: SnapshotTarget | ParquetTarget) => {
    const { kind } = await publishTo(app, target, { entry })
    const found = await Promise.all([target.path, keptPackage(target)].map(canariesIn))
    const of = (client: string) => [...new Set(found.flat())].filter(each => each.startsWith(`${CANARY}${client}.`))
    return { kind, own: of('client_a'), others: of('client_b') }
  }

  const first = await publishedTo(snapshot)
  expect([first.kind, first.others]).toEqual(['refill', []])
  for (const what of ['id', 'first.person', 'first.turn', 'first.username', 'organization.name', 'title'])
    expect(first.own).toContain(canary(`client_a.${what}`))

  // The person's newest name now comes from the other client.
  for (const client of CLIENTS) await loadConversation(place, client, 'second')
  const second = await publishedTo(snapshot)
  expect([second.kind, second.others]).toEqual(['delta', []])
  expect(second.own).toContain(canary('client_a.second.person'))

  await loadOrganization(place, 'client_a', ['agent-client_a', 'agent-client_b', 'agent-shared'])
  const moved = await publishedTo(parquet)
  // The agent has kept its conversation, but nothing of its former organization.
  expect(moved.others).toContain(canary('client_b.second.person'))
  expect(moved.others.filter(each => /client_b\.(organization|team)\./.test(each))).toEqual([])
  if (isDeep) {
    await loadOrganization(place, 'client_a', ['agent-client_a', 'agent-shared'])
    expect(await publishedTo(parquet)).toMatchObject({ kind: 'refill', others: [] })
  }

  await loadOrganization(place, 'client_a', null)
  const { own, others } = await publishedTo(snapshot)
  expect(others).toEqual([])
  expect(own.every(each => each.startsWith(`${CANARY}client_a.organization.`))).toBe(true)
})

it('of one workspace receive nothing of another one with equal ids, and a target may treat each workspace by its own policy', async () => {
  const places = [app.workspace(), app.workspace()]
  for (const [number, place] of places.entries()) {
    const fields = { ...plantedFields(conversation.fields, `w${number}`), ID: 'same', ts: SENT_AT_MS }
    const agents = [{ ...plantedFields(agent.fields, `w${number}.agent`), ID: 'agent-same' }]
    await place.load(await landAgents(place.landing, { agents }))
    const window = freshWindow({ agentId: 'agent-same' })
    await place.load(await landConversations(place.landing, { records: [fields], window }))
    const data = {
      ...plantedFields(ORGANIZATIONS.record.fields, `w${number}.org`),
      ID: 'org-same',
      widgetIDs: ['agent-same'],
    }
    await place.load(await landOrganization(place.landing, { id: 'org-same', data }))
  }
  const workspaces = [places[0]!.id]
  const foundIn = async (target: SnapshotTarget) => {
    await publishTo(app, target)
    const found = await canariesIn(target.path)
    return [0, 1].map(number => found.filter(each => each.startsWith(`${CANARY}w${number}.`)))
  }
  const same = { agents: ['agent-same'], organizations: ['org-same'] }
  for (const rows of [
    { workspaces, ...same },
    { workspaces, agents: [], organizations: [] },
  ]) {
    const [own, others] = await foundIn(newTarget(app.home, { rows }))
    expect(others).toEqual([])
    for (const what of ['useremail', 'agent.title', 'org.name']) expect(own).toContain(canary(`w0.${what}`))
  }
  await expect(publishTo(app, newTarget(app.home, { rows: same }))).rejects.toMatchObject({
    code: 'TARGET_UNUSABLE',
    message: expect.stringContaining(`each of the workspaces ${places.map(({ id }) => id).join(', ')} has the id`),
  })
  const pii = { ...DEFAULT, workspaces: { [places[0]!.id]: { identity: 'keep' as const } } }
  const [own, others] = await foundIn(newTarget(app.home, { pii }))
  expect(own).toContain(canary('w0.useremail'))
  expect(others).toContain(canary('w1.agent.title'))
  expect(others).not.toContain(canary('w1.useremail'))
})
