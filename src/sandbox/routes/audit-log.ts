// GET /v3/agents/{agentId}/audit-log (API document, sections 2.4 and 4.5; limits from the notes on the API).
import { z } from 'zod'
import { SECOND } from '../../core/time.ts'
import type { Readings } from '../readings.ts'
import type { SandboxService } from '../service.ts'
import { type AuditEntry, generatedEntries } from '../world/agents/audit-log.ts'
import { CANARY } from '../world/agents/secret-bearing.ts'
import { agentVariables } from '../world/agents/variables.ts'
import { type Answer, jsonAnswer } from './answer.ts'
import { type FoundAgent, ofAgent } from './of-agent.ts'
import { readQuery } from './query.ts'
import type { Route, RouteRequest } from './route.ts'

const Query = z.object({
  limit: z.int().min(1).max(200).default(50),
  cursorTs: z.int().min(0).optional(),
})

export const AUDIT_LOG_ROUTE: Route = {
  method: 'GET',
  path: '/v3/agents/{agentId}/audit-log',
  kind: 'audit',
  faultKind: 'audit',
  operation: 'getAuditLog',
  summary: 'Get agent audit log',
  query: Query,
  response: z.object({
    success: z.literal(true),
    entries: z.array(
      z.object({
        agentId: z.string(),
        field: z.string(),
        oldValue: z.string(),
        newValue: z.string(),
        source: z.enum(['user_update', 'template_clone', 'agent_clone', 'system_migration']),
        actor: z.string(),
        ts: z.int(),
      }),
    ),
    nextCursorTs: z.int().nullable().optional(),
  }),
  answer: ofAgent(answerAuditLog),
}

/** The newest entries first. `nextCursorTs` is the time of the page's last entry. */
function answerAuditLog(service: SandboxService, agent: FoundAgent, { params, nowMs }: RouteRequest): Answer {
  const read = readQuery(Query, params)
  if ('refused' in read) return read.refused
  const { limit, cursorTs = Number.POSITIVE_INFINITY } = read.value
  const { readings } = service.options
  const isInclusive = readings['audit-cursor'] === 'inclusive'
  const newestFirst = entriesOf(service, agent, nowMs).reverse()
  const older = newestFirst.filter(({ ts }) => (isInclusive ? ts <= cursorTs : ts < cursorTs))
  const entries = older.slice(0, limit)
  const lastTs = entries.at(-1)?.ts ?? read.value.cursorTs ?? Math.floor(nowMs / SECOND)
  return jsonAnswer({ success: true, entries, ...nextCursor(readings, lastTs, older.length > limit) })
}

function nextCursor(readings: Readings, lastTs: number, hasMore: boolean): { nextCursorTs?: number | null } {
  if (hasMore || readings['last-audit-cursor'] === 'present') return { nextCursorTs: lastTs }
  return readings['last-audit-cursor'] === 'null' ? { nextCursorTs: null } : {}
}

/** All entries until now, oldest first: the generated ones, and those of callers' writes. */
function entriesOf({ options, world, state }: SandboxService, agent: FoundAgent, nowMs: number): AuditEntry[] {
  const { agentId, record, createdMs } = agent
  const secret = agentVariables(agent, nowMs).filter(({ value }) => String(value).includes(CANARY))
  const generated = generatedEntries({
    seed: agent.seed,
    agent: agent.agent,
    record,
    variables: Object.fromEntries(secret.map(({ id, value }) => [`variables[${id}].value`, value])),
    startMs: options.startMs,
    renamedMs: world.agentChanges(agentId, createdMs, nowMs),
    titleAt: ms => world.agent(agentId, ms)!.title,
    nowMs,
  })
  return [...generated, ...state.agent(agentId).entries].sort((a, b) => a.ts - b.ts)
}
