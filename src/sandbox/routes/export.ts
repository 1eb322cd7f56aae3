// GET /v3/agents/{agentId}/convos/export (API document, section 4.12).
import { SECOND } from '../../core/time.ts'
import { misreport, type Reported, refusedBy, spoilPage } from '../faults/effects.ts'
import type { ChosenFault, FaultPlan } from '../faults/faults.ts'
import type { RateLimit } from '../limits/limits.ts'
import { type Answer, fault, JSON_TYPE } from './answer.ts'
import { type ExportPage, paginatedPage, selectedPage } from './export-page.ts'
import { type ExportQuery, parseExportQuery } from './export-query.ts'
import type { RouteRequest, SandboxService } from './route.ts'

const COMMA = Buffer.from(',')

/** Exports conversations. Every authenticated request counts against the hourly limit, unless it is answered with 429. */
export function exportConversations(service: SandboxService, { ids, params, plan, nowMs }: RouteRequest): Answer {
  const { options, world, hour, conditions } = service
  const agentId = ids.agentId!
  disturb(hour, plan.take('account'), nowMs)
  const blocked = plan.take('front')
  if (blocked) return refusedBy(blocked)
  const admission = hour.admit(nowMs)
  if (!admission.admitted) return tooMany(admission.retryAfterMs)
  if (!conditions.paid) return fault(403, 'The conversation export needs a paid workspace')
  if (world.agent(agentId) === undefined || conditions.isGone(agentId)) return fault(404, 'Agent not found')

  const parsed = parseExportQuery(params)
  if ('refused' in parsed) return parsed.refused
  const refused = plan.take('refusal')
  if (refused) return refusedBy(refused)
  const { query } = parsed
  const dataMs = nowMs - options.mirrorLagMs
  const input = { world, agentId, seed: options.seed, query, dataMs }
  const page = query.convoIds ? selectedPage(input, query.convoIds) : paginatedPage(input)
  if (page === undefined) return fault(400, 'Invalid cursor', { issues: ['cursor does not belong to this query'] })
  const served = spoilPage(page, input, plan.take('page'))
  return render(service, query, served, { nowMs, dataMs, plan })
}

function disturb(hour: RateLimit, chosen: ChosenFault | undefined, nowMs: number): void {
  if (chosen?.name === 'hour-forgotten') hour.restart()
  if (chosen?.name === 'others-requests') hour.take(chosen.param, nowMs)
}

function tooMany(retryAfterMs: number): Answer {
  const headers = { 'Retry-After': String(Math.max(1, Math.ceil(retryAfterMs / SECOND))) }
  return fault(429, 'Too many export requests in the last hour', { headers })
}

interface Circumstances {
  nowMs: number
  dataMs: number
  plan: FaultPlan
}

function render(service: SandboxService, query: ExportQuery, page: ExportPage, now: Circumstances): Answer {
  const { options, world, records, quota, hour } = service
  const { nowMs, dataMs, plan } = now
  const usage = quota.bill(page.billed, nowMs)
  const counted = { returned: page.indices.length, billed: page.billed }
  const data = page.indices.map(index => records.get(world.stateKey(index, dataMs), () => world.render(index, dataMs)))
  if (query.format === 'csv') {
    const body = renderCsv(data.map(record => Object(JSON.parse(record.toString())) as Record<string, unknown>))
    return { status: 200, contentType: 'text/csv; charset=utf-8', body, ...counted }
  }
  const head = {
    success: true,
    message: `Exported ${counted.returned} conversations (${counted.billed} billable sessions)`,
  }
  const rateLimit = { requestsPerHour: options.hourlyRequests, remainingHour: hour.remaining(nowMs) }
  const reported = misreport({ usage, rateLimit }, plan, quota, nowMs)
  const body = envelope(head, data, envelopeTail({ query, page, reported }))
  return { status: 200, contentType: JSON_TYPE, body, ...counted }
}

/** Builds `{head…, "data": [records], tail…}` in the order of section 4.12; the records are already JSON text. */
function envelope(head: object, records: readonly Buffer[], tail: object): Buffer {
  const parts: Buffer[] = [Buffer.from(`${JSON.stringify(head).slice(0, -1)},"data":[`)]
  for (const [place, record] of records.entries()) {
    if (place > 0) parts.push(COMMA)
    parts.push(record)
  }
  parts.push(Buffer.from(`],${JSON.stringify(tail).slice(1)}`))
  return Buffer.concat(parts)
}

const SOURCE = 'postgres_mirror'

interface Answered {
  query: ExportQuery
  page: ExportPage
  reported: Reported
}

/** Returns the fields after `data` (sections 4.12 and 2.11) in the order of section 4.12. */
function envelopeTail({ query, page, reported: { usage, rateLimit } }: Answered): object {
  const { convoIds, limit, sort, fromTs, toTs } = query
  const { hasMore, nextCursor, scanned } = page
  return {
    usage,
    rateLimit,
    hasMore,
    nextCursor,
    limit: convoIds ? convoIds.length : limit,
    mode: convoIds ? 'selected' : 'paginated',
    scannedConvoCount: scanned,
    source: SOURCE,
    query: { sort, fromTs, toTs },
  }
}

/** Renders CSV (RFC 4180) with a header, CRLF and nested values as JSON. */
function renderCsv(records: readonly Record<string, unknown>[]): string {
  const fields = [...new Set(records.flatMap(Object.keys))]
  const rows = records.map(record => fields.map(field => cell(record[field])))
  return [fields, ...rows].map(row => `${row.join(',')}\r\n`).join('')
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return ''
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return /[",\r\n]/.test(text) || text === '' ? `"${text.replaceAll('"', '""')}"` : text
}
