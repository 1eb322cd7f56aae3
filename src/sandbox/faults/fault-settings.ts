// Every fault that the sandbox can serve, and the settings that choose them: rates, scripts, or both.
//
// A request passes the stages in this order; each serves at most one fault:
//
//   account ──▶ front ──▶ (rate limit, agent, query) ──▶ refusal ──▶ page ──▶ (billed) ──▶ reported ──▶ around ──▶ lost ──▶ pace, date
//
// A fault before "billed" costs the caller nothing. After it, sessions are billed even if the answer is lost.

import { z } from 'zod'
import { DAY, HOUR, SECOND } from '../../core/time.ts'
import { type Param, paramIssue, ratesSchema } from '../rates.ts'

/**
 * `account`: changes the workspace's counters. `front`: the request never reaches the export. `refusal`: the export
 * fails. `page`: the page's content. `reported`: reported rate limit and usage. `around`: fields around the records.
 * `lost`: the answer is lost on the way. `pace`: when the answer is sent. `date`: the answer's `Date` header.
 */
export type Stage = 'account' | 'front' | 'refusal' | 'page' | 'reported' | 'around' | 'lost' | 'pace' | 'date'

interface FaultDefinition {
  stage: Stage
  /** One line for `--help` and the docs. */
  help: string
  /** True if a script may serve it also to searches for agents. */
  search?: true
  /** Served only to requests in paginated mode, or only to those with a cursor. */
  needs?: 'paging' | 'cursor'
  param?: Param
}

const ms = (value: number, min = 0, max = 10 * 60 * SECOND): Param => ({ unit: 'ms', default: value, min, max })
const count = (value: number, min: number, max: number): Param => ({ unit: 'count', default: value, min, max })

const TABLE = {
  'others-requests': {
    stage: 'account',
    help: 'another user of the token makes PARAM requests (100) in this hour; remainingHour shows it',
    param: count(100, 1, 1_000_000),
  },
  'hour-forgotten': {
    stage: 'account',
    help: 'the hourly count restarts; remainingHour jumps up',
  },
  '429': { stage: 'front', help: '429 without Retry-After, although the hourly limit is not reached' },
  '429-retry-after': {
    stage: 'front',
    help: '429 with Retry-After: PARAM (30s)',
    param: ms(30 * SECOND, SECOND, DAY),
  },
  '503': { stage: 'front', search: true, help: '503 before any work is done' },
  'dropped-before': { stage: 'front', search: true, help: 'the connection closes before any work is done or billed' },
  '500': { stage: 'refusal', search: true, help: '500; counts against the hourly limit, bills nothing' },
  'expired-cursor': { stage: 'refusal', needs: 'cursor', help: '400: the cursor has expired' },
  'empty-page': {
    stage: 'page',
    needs: 'paging',
    help: 'no conversations, hasMore true, and a cursor for the same position; bills nothing',
  },
  'repeated-cursor': { stage: 'page', needs: 'cursor', help: 'hasMore true, and nextCursor is the cursor just used' },
  'missing-cursor': { stage: 'page', needs: 'paging', help: 'hasMore true, and no nextCursor' },
  shuffled: { stage: 'page', help: 'the records of the page in random order' },
  'hour-reported-high': { stage: 'reported', help: 'remainingHour reports the full limit, in this answer only' },
  'usage-reported-low': { stage: 'reported', help: 'usage reports only this request, in this answer only' },
  'old-period-reported': {
    stage: 'reported',
    help: 'usage reports the last earlier period with billed sessions, if any; in this answer only',
  },
  'unseen-period-reported': {
    stage: 'reported',
    help: 'usage reports a period that never existed, with no sessions left; in this answer only',
  },
  'cut-body': { stage: 'lost', search: true, help: 'billed; the connection closes in the middle of the body' },
  'cut-json': { stage: 'lost', search: true, help: 'billed; a complete HTTP answer whose JSON is cut in half' },
  html: { stage: 'lost', search: true, help: "billed; 200 with a proxy's HTML page instead of the JSON" },
  'dropped-after': { stage: 'lost', search: true, help: 'billed; the connection closes without an answer' },
  slow: {
    stage: 'pace',
    search: true,
    help: 'the answer is delayed by PARAM (5s, real time)',
    param: ms(5 * SECOND),
  },
  'clock-off': {
    stage: 'date',
    search: true,
    help: "the Date header is PARAM (1h; -5m: behind) off the sandbox's clock",
    param: ms(HOUR, -3_660 * DAY, 3_660 * DAY),
  },
  'deep-envelope': {
    stage: 'around',
    search: true,
    help: 'an undocumented field beside the records, with objects nested PARAM (100000) deep',
    param: count(100_000, 1, 1_000_000),
  },
} as const satisfies Record<string, FaultDefinition>

export type FaultName = keyof typeof TABLE

export const FAULTS: Record<FaultName, FaultDefinition> = TABLE

export const FAULT_NAMES = Object.keys(TABLE) as [FaultName, ...FaultName[]]

/** Serves a fault to each request that matches all given fields. */
const Rule = z
  .strictObject({
    fault: z.enum(FAULT_NAMES),
    param: z.number().optional(),
    /** Number of the request from 1 since the faults were set, counted for each kind. */
    at: z.number().int().min(1).optional(),
    /** Kind of the requests: exports (default), or searches for agents. */
    kind: z.enum(['export', 'search']).optional(),
  })
  .check(({ value, issues }) => {
    const { fault, kind = 'export', param } = value
    const isServed = kind === 'export' || FAULTS[fault].search === true
    const message = isServed
      ? paramIssue(FAULTS, fault, param)
      : `${fault} is not served to requests of the kind ${kind}`
    if (message !== undefined) issues.push({ code: 'custom', input: value, message })
  })

export const FaultSettings = z.strictObject({
  /** Determines which request numbers are hit. Default: 1. */
  seed: z.number().int().optional(),
  /** A probability for each export. */
  rates: ratesSchema(FAULTS, 'fault').optional(),
  /** Takes precedence over the rates. */
  script: z.array(Rule).optional(),
})

export type FaultSettings = z.infer<typeof FaultSettings>
