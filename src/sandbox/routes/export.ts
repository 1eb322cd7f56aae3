// GET /v3/agents/{agentId}/convos/export (API document, section 4.12).
import { z } from 'zod'
import { SECOND } from '../../core/time.ts'
import { misreport, type Reported, refusedBy, spoilPage } from '../faults/effects.ts'
import type { ChosenFault, FaultPlan } from '../faults/faults.ts'
import type { RateLimit } from '../limits/rate-limit.ts'
import type { Readings } from '../readings.ts'
import type { SandboxService } from '../service.ts'
import { EXPORT_FIELDS } from '../world/conversation/record-shape.ts'
import { type Answer, fault, rawJson } from './answer.ts'
import { type ExportPage, paginatedPage, selectedPage } from './export-page.ts'
import { ExportParams, type ExportQuery, FIRST_MS, parseExportQuery } from './export-query.ts'
import type { Route, RouteRequest } from './route.ts'

export const EXPORT_ROUTE: Route = {
  method: 'GET',
  path: '/v3/agents/{agentId}/convos/export',
  kind: 'export',
  faultKind: 'export',
  operation: 'exportConversations',
  summary: 'Export agent conversations',
  query: ExportParams,
  // Which fields are present depends on the readings.
  response: z.looseObject({ success: z.literal(true), message: z.string(), data: z.array(z.unknown()) }),
  errors: [403, 429],
  metered: true,
  answer: answerExport,
}

const COMMA = Buffer.from(',')
const UNPAID = { '401': 401, '402': 402, '403': 403 } as const
const UNKNOWN_IDS = { '400': 400, '404': 404 } as const

/** Every authenticated request counts against the hourly limit, even if it is refused, unless it is answered with 429. */
function answerExport(service: SandboxService, { ids, params, plan, nowMs }: RouteRequest): Answer {
  const { options, world, hour, conditions, cursors } = service
  const { readings } = options
  const agentId = ids.agentId!
  disturb(hour, plan.take('account'), nowMs)
  const blocked = plan.take('front')
  if (blocked) return refusedBy(blocked)
  const admission = hour.admit(nowMs)
  if (!admission.admitted) return tooMany(admission.retryAfterMs)
  if (!conditions.paid) return fault(UNPAID[readings.unpaid], 'The conversation export needs a paid workspace')
  if (world.agent(agentId) === undefined || conditions.isGone(agentId)) return fault(404, 'Agent not found')

  const parsed = parseExportQuery(params, readings)
  if ('issues' in parsed) return fault(400, 'Invalid query', { issues: parsed.issues })
  const refused = plan.take('refusal')
  if (refused) return refusedBy(refused)
  const { query } = parsed
  const dataMs = conditions.dataMs(nowMs)
  const input = { world, agentId, seed: options.seed, query, dataMs, readings }
  const page = query.convoIds ? selectedPage(input, query.convoIds) : paginatedPage(input)
  if (page === undefined) return fault(400, 'Invalid cursor', { issues: ['cursor does not belong to this query'] })
  if (!cursors.use(query.cursor, nowMs)) return fault(400, 'Invalid cursor', { issues: ['cursor has expired'] })
  if (query.convoIds && page.scanned < query.convoIds.length && readings['unknown-ids'] !== 'omitted')
    return fault(UNKNOWN_IDS[readings['unknown-ids']], 'Not all conversations were found')
  const served = spoilPage(page, input, plan.take('page'))
  cursors.issue(served.nextCursor ?? served.endCursor, nowMs)
  return render(service, query, served, { nowMs, dataMs, plan })
}

function disturb(hour: RateLimit, chosen: ChosenFault | undefined, nowMs: number): void {
  if (chosen?.name === 'hour-forgotten') hour.restart()
  if (chosen?.name === 'others-requests') hour.take(chosen.param, nowMs)
}

function tooMany(retryAfterMs: number): Answer {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000))
  return fault(429, 'Too many export requests in the last hour', { headers: { 'Retry-After': String(seconds) } })
}

interface Circumstances {
  nowMs: number
  dataMs: number
  plan: FaultPlan
}

function render(service: SandboxService, query: ExportQuery, page: ExportPage, now: Circumstances): Answer {
  const { world, records, quota, hour } = service
  const { nowMs, dataMs, plan } = now
  const { readings } = service.options
  const sessionsOf = (index: number) => world.billable(index, dataMs)
  const billed = readings.rebill === 'once' ? quota.notYetBilled(page.indices, sessionsOf, nowMs) : page.billed
  const usage = quota.bill(billed, nowMs)
  const counted = { returned: page.indices.length, billed }
  const data = page.indices.map(index => records.get(world.stateKey(index, dataMs), () => world.render(index, dataMs)))
  if (query.format === 'csv') {
    const body = renderCsv(data.map(record => Object(JSON.parse(record.toString())) as Record<string, unknown>))
    return { status: 200, contentType: 'text/csv; charset=utf-8', body, ...counted }
  }
  const head = {
    success: true,
    message: `Exported ${counted.returned} conversations (${counted.billed} billable sessions)`,
  }
  const rateLimit = { requestsPerHour: hour.requestsPerHour, remainingHour: hour.remaining(nowMs) }
  const reported = misreport({ usage, rateLimit }, plan, quota, nowMs)
  const tail = envelopeTail(readings, { query, page, reported })
  return { ...rawJson(envelope(head, data, tail)), ...counted }
}

/** `{head…, "data": [records], tail…}` in the order of section 4.12; the records are JSON text already. */
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

/** The fields after `data` (sections 4.12 and 2.11) in the order of section 4.12, as the readings choose. */
function envelopeTail(readings: Readings, { query, page, reported: { usage, rateLimit } }: Answered): object {
  const tail = {
    ...(readings.usage === 'present' && { usage }),
    ...(readings['rate-limit'] === 'present' && { rateLimit }),
    ...laidOut(pagingOf(readings, query, page), readings.paging),
    ...(readings.usage === 'nested' && { meta: { usage } }),
  }
  return readings.numbers === 'text' ? (spelled(tail) as object) : tail
}

function laidOut(paging: object, reading: Readings['paging']): object {
  return { ...(reading !== 'nested' && paging), ...(reading !== 'flat' && { paging }) }
}

function pagingOf(readings: Readings, query: ExportQuery, page: ExportPage): object {
  const { convoIds, limit } = query
  const { hasMore, scanned, indices } = page
  const isThere = (name: 'limit' | 'mode' | 'source') => readings[name] === 'present'
  const isScanned = readings.scanned === 'looked-at'
  return {
    ...(readings['has-more'] !== 'absent' && { hasMore: readings['has-more'] === 'text' ? String(hasMore) : hasMore }),
    ...nextCursor(readings, page),
    ...(isThere('limit') && { limit: convoIds ? convoIds.length : limit }),
    ...(isThere('mode') && { mode: convoIds ? 'selected' : 'paginated' }),
    ...(readings.scanned !== 'absent' && { scannedConvoCount: isScanned ? scanned : indices.length }),
    ...(isThere('source') && { source: SOURCE }),
    ...(readings.echo !== 'absent' && { query: echoed(query, readings.echo) }),
  }
}

/** The field `nextCursor`. If nothing else shows whether more pages follow, the last page has no cursor. */
function nextCursor(
  readings: Readings,
  { hasMore, nextCursor, endCursor }: ExportPage,
): { nextCursor?: string | null } {
  if (hasMore || nextCursor !== null) return { nextCursor }
  const saysAll = readings['has-more'] === 'absent'
  switch (readings['last-cursor']) {
    case 'absent':
      return saysAll ? { nextCursor } : {}
    case 'empty':
      return { nextCursor: '' }
    case 'present':
      return { nextCursor: saysAll ? nextCursor : endCursor }
    default:
      return { nextCursor }
  }
}

function echoed({ sort, fromTs, toTs }: ExportQuery, reading: Readings['echo']): object {
  const inUnit = (bound: number | null) => {
    if (bound === null || reading === 'as-sent') return bound
    const isMs = bound >= FIRST_MS
    if (reading === 's') return isMs ? Math.floor(bound / SECOND) : bound
    return isMs ? bound : bound * SECOND
  }
  return { sort, fromTs: inUnit(fromTs), toTs: inUnit(toTs) }
}

/** Spells every number as text. */
function spelled(value: unknown): unknown {
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, spelled(inner)]))
}

/** CSV (RFC 4180) with a header row, CRLF and nested values as JSON text. Every page has all columns; absent and null are empty. */
function renderCsv(records: readonly Record<string, unknown>[]): string {
  const rows = records.map(record => EXPORT_FIELDS.map(field => cell(record[field])))
  return [EXPORT_FIELDS, ...rows].map(row => `${row.join(',')}\r\n`).join('')
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return ''
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return /[",\r\n]/.test(text) || text === '' ? `"${text.replaceAll('"', '""')}"` : text
}
