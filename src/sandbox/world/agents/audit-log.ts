// The generated part of an agent's audit log (section 2.4): its creation, and changes by users. The newest entry of a
// field has the current value of the agent's record; each earlier entry has another one.
import { DAY, SECOND } from '../../../core/time.ts'
import { Draw, mix, PURPOSE } from '../random.ts'
import { STAFF } from '../staff.ts'
import type { AgentRecord } from './agent-record.ts'
import { CANARY } from './secret-bearing.ts'

interface Audited {
  seed: number
  /** The agent's number from 0. */
  agent: number
  /** The current record, and the values of its variables by path. */
  record: AgentRecord
  variables: Record<string, unknown>
  /** Time when the world began to be served, ms: users change nothing after it. */
  startMs: number
  /** Time when its instructions were revised, after which its figures move. */
  revisedMs: number
}

/** The instructions of which users revise only these, once. */
const REVISED = 'nodes[fallback].instructions'

/** Fields that users change. A name in brackets is the id, name or key of an element. */
const FIELDS = [
  'description',
  'theme',
  'disabled',
  'proactiveMessage',
  'vg_systemPrompt',
  'vg_temperature',
  'vg_defaultModel',
  'voiceConfig.speechGen.provider',
  'voiceConfig.transcriber.apiKey',
  'voiceConfig.config.recordAudio',
  'nodes[greeting].instructions',
  'nodes[booking].mcpServers',
  'nodes[qualification].mcpServers[crm].headers.Authorization',
  'advanced.serverUrlSecret',
  'SECRET_API_KEY',
  'integrations.slack.url',
  'limits.maxMonthlyCreditsUsage',
  'convoTags',
  'tools[Order lookup].serverUrlSecret',
  'tools[Order lookup].fields',
] as const

interface Save {
  ms: number
  source: 'user_update' | 'template_clone' | 'agent_clone'
  actor: string
  /** Dotted paths, with ids in brackets. */
  fields: readonly string[]
}

export type AuditEntry = ReturnType<typeof generatedEntries>[number]

/** Returns all entries, oldest first. */
export function generatedEntries(audited: Audited) {
  const { record, variables } = audited
  const left = new Map<string, number>()
  const entries = savesOf(audited).map(({ ms, source, actor, fields }, place) => {
    const changes = fields.map(field => {
      const value = field in variables ? variables[field] : valueAt(record, field)
      const later = left.get(field) ?? 0
      left.set(field, later + 1)
      const [oldValue, newValue] = [earlier(value, later + 1), earlier(value, later)]
      return { agentId: record.ID, field, oldValue, newValue, source, actor, ts: Math.floor(ms / SECOND) }
    })
    // Saved twice within a second, since entries may be identical.
    return place % 7 === 3 ? [...changes, changes[0]!] : changes
  })
  return entries.flat().sort((a, b) => a.ts - b.ts)
}

/** Returns which fields were saved when, newest first; at the agent's creation all of them. */
function savesOf({ seed, agent, record, variables, startMs, revisedMs }: Audited): Save[] {
  const draw = new Draw(mix(seed, agent), 0, PURPOSE.audit)
  const createdMs = record.createdAtUNIX * SECOND
  const fields = [...FIELDS, ...Object.keys(variables)]
  const creation = { source: agent % 2 === 0 ? 'agent_clone' : 'template_clone', actor: STAFF[0]![0] } as const
  const saves = Array.from({ length: draw.int(80, 120) }, () => ({
    ms: draw.int(createdMs + DAY, Math.max(createdMs + DAY, startMs)),
    source: 'user_update' as const,
    actor: draw.pick(STAFF)[0],
    fields: draw.several(fields, 4),
  }))
  saves.push({ ms: revisedMs, source: 'user_update', actor: STAFF[1]![0], fields: [REVISED] })
  return [...saves.sort((a, b) => b.ms - a.ms), { ms: createdMs, ...creation, fields }]
}

/** Returns the value that was replaced that number of changes ago; it has the same type, and a secret stays a secret. */
function earlier(value: unknown, changes: number): string {
  if (changes === 0) return text(value)
  if (typeof value === 'boolean') return String(changes % 2 === 0 ? value : !value)
  if (typeof value === 'number') return String(Math.round((value + changes) * 100) / 100)
  const written = text(value)
  if (!written.includes(CANARY)) return `${written} (draft ${changes})`
  return written.replaceAll(CANARY, `${CANARY}before-${changes}-`)
}

/** Writes a value as in an audit entry: texts unchanged, anything else as JSON, nothing as an empty text. */
function text(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Returns the value at a path such as `nodes[greeting].llmConfig.temperature`; undefined if there is none. */
function valueAt(record: AgentRecord, path: string): unknown {
  const keys = path.split(/[.[\]]+/).filter(key => key !== '')
  return keys.reduce<unknown>((value, key) => {
    if (Array.isArray(value)) return value.find(({ id, name }) => id === key || name === key)
    return (value as Record<string, unknown> | null | undefined)?.[key]
  }, record)
}
