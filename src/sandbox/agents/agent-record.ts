// An agent of section 2.12, with every group that the document names.
import { DAY } from '../../core/time.ts'
import type { ResolvedOptions } from '../options.ts'
import { Draw, PURPOSE } from '../random.ts'
import { channels } from './channels.ts'
import { conversationModel } from './conversation-model.ts'
import { nodes } from './nodes.ts'
import { quality } from './quality.ts'
import { tools } from './tools.ts'
import { voiceConfig } from './voice-config.ts'
import { widget } from './widget.ts'

const TITLES = [
  'Front desk',
  'Support – EU 🇪🇺',
  'Lead qualifier "Nova"',
  '予約アシスタント',
  'Billing & refunds',
  'مساعد المبيعات',
] as const

/** What the sandbox itself reads of an agent; the rest is for the client. */
const STARRED_BELOW = 30

export interface AgentRecord {
  ID: string
  title: string
  description: string
  starred: boolean
  /** Unix seconds. */
  createdAtUNIX: number
  /** Milliseconds. */
  lastModified: number
  [field: string]: unknown
}

/** `ID` of the agent, counted from 0. */
export function agentId(seed: number, agent: number): string {
  return `agent_${new Draw(seed, agent, PURPOSE.agent).hex(16)}${String(agent + 1).padStart(2, '0')}`
}

export function createAgentRecord(
  { seed, startMs, historyDays, workspaceId }: ResolvedOptions,
  agent: number,
): AgentRecord {
  const draw = new Draw(seed, agent, PURPOSE.agent)
  const ID = agentId(seed, agent)
  const createdMs = Math.floor(startMs - (historyDays + draw.int(1, 300)) * DAY)
  const number = agent < TITLES.length ? '' : ` ${agent + 1}`
  return {
    ID,
    title: `${TITLES[agent % TITLES.length]}${number}`,
    description: 'Answers visitors, collects contacts, and hands over to a person when asked.',
    ownerID: workspaceId,
    storageID: `storage_${draw.hex(20)}`,
    theme: draw.pick(['light', 'dark', 'brand']),
    agentPlatform: draw.chance(0.8) ? 'vg' : 'vf',
    region: draw.pick(['eu', 'na']),
    createdAtUNIX: Math.floor(createdMs / 1_000),
    lastModified: createdMs + draw.int(0, 300 * DAY),
    disabled: agent > 0 && draw.chance(0.1),
    isDeployed: true,
    deployed: true,
    // A few, however many there are: all of them come with every page of a search.
    starred: agent % 3 === 0 && agent < STARRED_BELOW,
    voiceConfig: voiceConfig(draw, agent),
    ...widget(draw),
    ...conversationModel(draw),
    ...nodes(draw, agent),
    ...tools(draw, { agent, agentId: ID, workspaceId, createdMs }),
    ...channels(draw, agent),
    ...quality(draw, createdMs),
  }
}
