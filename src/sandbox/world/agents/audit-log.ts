// The generated part of an agent's audit log (section 2.4): its creation, changes by users, imports of a template, and migrations.
//
// The newest entry of a field has the value that the agent's record has now; each earlier entry has another one. Without traffic,
// only migrations go on after the start.
import { DAY, SECOND } from '../../../core/time.ts'
import { Draw, mix, PURPOSE } from '../random.ts'
import { STAFF } from '../staff.ts'
import type { AgentRecord } from './agent-record.ts'
import { CANARY } from './secret-bearing.ts'

export interface AuditEntry {
  agentId: string
  /** Dotted path, with ids in brackets. */
  field: string
  oldValue: string
  newValue: string
  source: 'user_update' | 'template_clone' | 'agent_clone' | 'system_migration'
  actor: string
  /** Unix seconds. */
  ts: number
}

interface Audited {
  seed: number
  /** The agent's number from 0. */
  agent: number
  /** The record as it is now, and the values of its variables by path. */
  record: AgentRecord
  variables: Record<string, unknown>
  /** When the world began to be served, ms: users change nothing after it, except by traffic. */
  startMs: number
  /** Renamings by traffic, ms, in order, and the title since a time. */
  renamedMs: readonly number[]
  titleAt(ms: number): string
  nowMs: number
}

/** Fields that users change. A name in brackets is the id, name or key of an element; `*` is the first one. */
const FIELDS = [
  'description',
  'theme',
  'disabled',
  'proactiveMessage',
  'privacyDisclaimer.text',
  'disableHumanHandoff',
  'vg_systemPrompt',
  'vg_temperature',
  'vg_defaultModel',
  'vg_kbTopChunks',
  'vg_enableUIEngine',
  'voiceConfig.speechGen.provider',
  'voiceConfig.speechGen.apiKey',
  'voiceConfig.transcriber.language',
  'voiceConfig.transcriber.apiKey',
  'voiceConfig.config.recordAudio',
  'nodes[greeting].instructions',
  'nodes[booking].llmConfig.temperature',
  'nodes[booking].mcpServers',
  'nodes[qualification].mcpServers[crm].headers.Authorization',
  'nodes[qualification].mcpServers[notes].env.OPENAI_KEY',
  'advanced.serverUrl',
  'advanced.serverUrlSecret',
  'whatsappToken',
  'instagramOptions.accessToken',
  'emailConfig.smtp.password',
  'SECRET_API_KEY',
  'vapiConfig.privateKey',
  'retellConfig.signingKey',
  'integrations.slack.url',
  'integrations.mail.pwd',
  'limits.maxMonthlyCreditsUsage',
  'convoTags',
  'marketplace.enabled',
  'tools[*].description',
  'tools[*].serverUrlSecret',
  'tools[*].fields',
  'tools[*].fields[Authorization].value',
] as const

/** Migrations of all agents, one per interval. */
const MIGRATION_MS = 20 * DAY

/** The entries until now, oldest first. */
export function generatedEntries(audited: Audited): AuditEntry[] {
  const { renamedMs, nowMs } = audited
  const renamings = renamedMs.filter(ms => ms <= nowMs).map(ms => renaming(audited, ms))
  return [...changesBeforeStart(audited), ...migrations(audited), ...renamings].sort((a, b) => a.ts - b.ts)
}

const createdMsOf = ({ record }: Audited): number => record.createdAtUNIX * SECOND

interface Batch {
  ms: number
  source: AuditEntry['source']
  actor: string
  fields: readonly string[]
}

function changesBeforeStart(audited: Audited): AuditEntry[] {
  const { record, variables } = audited
  const fields = [...FIELDS.map(field => named(field, record)), ...Object.keys(variables)]
  const batches = plan(audited, fields)
  const left = new Map<string, number>()
  for (const field of batches.flatMap(batch => batch.fields)) left.set(field, (left.get(field) ?? 0) + 1)
  const counts = new Map(left)
  return batches.flatMap(({ ms, source, actor, fields }, place) => {
    const entries = fields.map(field => {
      const now = field in variables ? variables[field] : valueAt(record, field)
      const before = left.get(field)!
      left.set(field, before - 1)
      const oldValue = before === counts.get(field) ? '' : earlier(now, before)
      const entry = { agentId: record.ID, field, oldValue, newValue: earlier(now, before - 1) }
      return { ...entry, source, actor, ts: Math.floor(ms / SECOND) }
    })
    // Saved twice within a second: entries may be identical.
    return place % 7 === 3 ? [...entries, entries[0]!] : entries
  })
}

/** When which fields changed, oldest first; at the agent's creation all of them. */
function plan(audited: Audited, fields: readonly string[]): Batch[] {
  const { seed, agent, startMs } = audited
  const draw = new Draw(mix(seed, agent), 0, PURPOSE.audit)
  const createdMs = createdMsOf(audited)
  const first = createdMs + DAY
  const times = Array.from({ length: draw.int(60, 120) }, () => draw.int(first, Math.max(first, startMs)))
  const batches = times
    .sort((a, b) => a - b)
    .map((ms, place) => ({
      ms,
      source: place % 30 === 29 ? ('template_clone' as const) : ('user_update' as const),
      actor: draw.pick(STAFF)[0],
      fields: draw.several(fields, place % 30 === 29 ? 12 : 4),
    }))
  const source = agent % 2 === 0 ? 'agent_clone' : 'template_clone'
  return [{ ms: createdMs, source, actor: STAFF[0]![0], fields }, ...batches]
}

function migrations(audited: Audited): AuditEntry[] {
  const { record, nowMs } = audited
  const entries: AuditEntry[] = []
  for (let version = Math.ceil(createdMsOf(audited) / MIGRATION_MS); version * MIGRATION_MS <= nowMs; version++) {
    const ts = Math.floor((version * MIGRATION_MS) / SECOND)
    const change = { agentId: record.ID, source: 'system_migration' as const, actor: 'system', ts }
    entries.push({ ...change, field: 'schemaVersion', oldValue: String(version - 1), newValue: String(version) })
    const runtime = { oldValue: `v3.${version - 1}`, newValue: `v3.${version}` }
    entries.push({ ...change, field: 'nodes[greeting].runtime', ...runtime })
  }
  return entries
}

function renaming({ record, titleAt }: Audited, ms: number): AuditEntry {
  return {
    agentId: record.ID,
    field: 'title',
    oldValue: titleAt(ms - 1),
    newValue: titleAt(ms),
    source: 'user_update',
    actor: STAFF[1]![0],
    ts: Math.floor(ms / SECOND),
  }
}

/** The value that was replaced that number of changes ago: of the same type, and still a secret. */
function earlier(value: unknown, changes: number): string {
  if (changes === 0) return text(value)
  if (typeof value === 'boolean') return String(changes % 2 === 0 ? value : !value)
  if (typeof value === 'number') return String(Math.round((value + changes) * 100) / 100)
  const written = text(value)
  return written.includes(CANARY)
    ? written.replaceAll(CANARY, `${CANARY}before-${changes}-`)
    : `${written} (draft ${changes})`
}

/** A value as an entry has it: texts as they are, anything else as JSON, nothing as an empty text. */
export function text(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const named = (field: string, record: AgentRecord): string =>
  field.replace('*', String((record.assignedToolsIds as string[])[0]))

/** The value at a path such as `nodes[greeting].llmConfig.temperature`; undefined if there is none. */
function valueAt(record: AgentRecord, path: string): unknown {
  const keys = path.split(/[.[\]]+/).filter(key => key !== '')
  return keys.reduce<unknown>((value, key) => {
    if (Array.isArray(value)) return value.find(({ id, name, key: own }) => [id, name, own].includes(key))
    return (value as Record<string, unknown> | null | undefined)?.[key]
  }, record)
}
