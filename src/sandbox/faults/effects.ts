// Applies each fault: to a page, to the reported usage and rate limit, and to the answer.
import type { Quota, Usage } from '../limits/limits.ts'
import { type Answer, type Delivery, fault } from '../routes/answer.ts'
import { deferredPage, type ExportPage, type PageInput } from '../routes/export-page.ts'
import { Draw, PURPOSE } from '../world/random.ts'
import type { ChosenFault, FaultPlan } from './faults.ts'

/** Returns the answer for a fault of the stages `front` and `refusal`. */
export function refusedBy({ name, param }: ChosenFault): Answer {
  switch (name) {
    case '429':
      return fault(429, 'Too many requests')
    case '429-retry-after':
      return fault(429, 'Too many requests', { headers: { 'Retry-After': String(Math.ceil(param / 1_000)) } })
    case '503':
      return fault(503, 'The service is not available')
    case 'expired-cursor':
      return fault(400, 'Invalid cursor', { issues: ['cursor has expired'] })
    case 'dropped-before':
      return { ...fault(500, 'Dropped'), status: NO_ANSWER, delivery: { sends: 'nothing' } }
    default:
      return fault(500, 'Something went wrong')
  }
}

/** Status that the request log records for a request that got no answer. */
const NO_ANSWER = 0

// Applies a fault of the stage `page` to an export page.

export function spoilPage(page: ExportPage, input: PageInput, chosen: ChosenFault | undefined): ExportPage {
  switch (chosen?.name) {
    case 'empty-page':
      return deferredPage(input)
    case 'repeated-cursor':
      return { ...page, hasMore: true, nextCursor: input.query.cursor ?? null }
    case 'missing-cursor':
      return { ...page, hasMore: true, nextCursor: null }
    case 'shuffled':
      return { ...page, indices: shuffle(page.indices, chosen.word) }
    default:
      return page
  }
}

/** Fisher–Yates. */
function shuffle(indices: readonly number[], seed: number): number[] {
  const draw = new Draw(seed, 0, PURPOSE.fault)
  const shuffled = [...indices]
  for (let last = shuffled.length - 1; last > 0; last--) {
    const other = draw.int(0, last)
    ;[shuffled[last], shuffled[other]] = [shuffled[other]!, shuffled[last]!]
  }
  return shuffled
}

// Applies a fault of the stage `reported`: wrong figures in one answer; the real counters are unaffected.

export interface Reported {
  usage: Usage
  rateLimit: { requestsPerHour: number; remainingHour: number }
}

const SPENT = { periodKey: 'elsewhere.0', billableRemainingThisPeriod: 0 }

export function misreport({ usage, rateLimit }: Reported, plan: FaultPlan, quota: Quota, nowMs: number): Reported {
  const fits = (name: string) => name !== 'old-period-reported' || quota.before(nowMs) !== undefined
  switch (plan.take('reported', fits)?.name) {
    case 'hour-reported-high':
      return { usage, rateLimit: { ...rateLimit, remainingHour: rateLimit.requestsPerHour } }
    case 'usage-reported-low':
      return { usage: quota.onlyThis(usage, nowMs), rateLimit }
    case 'old-period-reported':
      return { usage: { ...quota.before(nowMs)!, billableUsedThisRequest: usage.billableUsedThisRequest }, rateLimit }
    case 'unseen-period-reported':
      return { usage: { ...usage, ...SPENT, billableUsedThisPeriod: usage.includedQuota }, rateLimit }
    default:
      return { usage, rateLimit }
  }
}

const PROXY_PAGE =
  '<!DOCTYPE html>\n<html><head><title>Just a moment…</title></head><body>Checking your browser.</body></html>\n'

/** Applies the stages `around`, `lost`, `pace` and `date`. A lost answer stays billed. */
export function spoil(answer: Answer, plan: FaultPlan): Answer {
  const sent = answer.status === 200 ? lose(surround(answer, plan), plan) : answer
  const delivery = { ...sent.delivery, ...timing(sent, plan) }
  return Object.keys(delivery).length === 0 ? sent : { ...sent, delivery }
}

/** Adds a deeply nested field before all others. It is built as text, because `JSON.stringify` cannot nest this deep. */
function surround(answer: Answer, plan: FaultPlan): Answer {
  const chosen = answer.contentType.startsWith('application/json') ? plan.take('around') : undefined
  if (chosen === undefined) return answer
  const deep = `${'{"a":'.repeat(chosen.param)}1${'}'.repeat(chosen.param)}`
  return {
    ...answer,
    body: Buffer.concat([Buffer.from(`{"futureDepth":${deep},`), Buffer.from(answer.body).subarray(1)]),
  }
}

function lose(answer: Answer, plan: FaultPlan): Answer {
  const chosen = plan.take('lost')
  if (chosen === undefined) return answer
  const lost = { ...answer, returned: 0 }
  switch (chosen.name) {
    case 'html':
      return { ...lost, contentType: 'text/html; charset=utf-8', body: PROXY_PAGE }
    case 'cut-json': {
      const body = Buffer.from(answer.body)
      return { ...lost, body: body.subarray(0, body.length >>> 1) }
    }
    case 'cut-body':
      return { ...lost, delivery: { sends: 'half' } }
    default:
      return { ...lost, status: NO_ANSWER, delivery: { sends: 'nothing' } }
  }
}

/** The caller cannot observe when an answer that is never sent is late, or its `Date`. */
function timing({ delivery }: Answer, plan: FaultPlan): Delivery {
  if (delivery?.sends === 'nothing') return {}
  const late = plan.take('pace')
  const off = plan.take('date')
  return { ...(late && { holdMs: late.param }), ...(off && { dateOffsetMs: off.param }) }
}
