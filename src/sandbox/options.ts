// What a sandbox can be told, and what it does when it is told nothing.
import { ConvohouseError } from '../core/errors.ts'
import type { FaultSettings } from './faults/fault-settings.ts'
import { HOSTILE, type HostileName } from './hostile/hostile-table.ts'
import { issueTexts, type Rate, ratesSchema } from './rates.ts'
import { type Readings, resolveReadings } from './readings.ts'
import type { WebhookSettings } from './webhooks/webhook-settings.ts'

/** `mixed`: each conversation has its own unit, and keeps it. */
export const TS_UNITS = ['s', 'ms', 'us', 'mixed'] as const

export type TsUnit = (typeof TS_UNITS)[number]

export interface SandboxOptions {
  /** TCP port; 0 takes any that is free. */
  port: number
  host: string
  workspaceId: string
  token: string
  agents: number
  /** Over all agents, begun in the `historyDays` before `startMs`. */
  conversations: number
  historyDays: number
  /** Conversations begun each day after `startMs`, over all agents, as the sandbox's clock goes on. */
  arrivalsPerDay: number
  seed: number
  /** What the record's `ts` tells: the first message, or the last activity (notes on the API, "What is `ts`"). */
  ts: 'created' | 'activity'
  /** Conversations change in the middle of their sessions and long after them too: handoffs, surveys, notes in the CRM. */
  traffic: boolean
  /** Unit of the record's `ts`. */
  tsUnit: TsUnit
  /** `hasEverPaid` of the workspace. */
  paid: boolean
  /** False lifts the hourly limit and the quota. */
  limits: boolean
  hourlyRequests: number
  /** Length of the "hour" of the hourly limit, so that tests need not wait for a real one. */
  hourMs: number
  /** Billable sessions included in a period. */
  quotaSessions: number
  periodDays: number
  /** Real milliseconds before each answer of the API. */
  latencyMs: number
  /** What happened within so many milliseconds is not in the export yet. */
  mirrorLagMs: number
  /** Added to the `Date` header of every answer: a vendor whose clock is ahead, or behind. */
  clockOffsetMs: number
  /** The sandbox's clock at the start, in ms since the epoch; undefined: the real time. */
  startMs: number | undefined
  /** Sandbox seconds to a real second; 0 stands still until it is set. */
  speed: number
  /** Rendered records kept in memory, in bytes; 0 keeps none. */
  cacheBytes: number
  /** Share of conversations that the mirror gets late, each by its own delay of up to `lateMs`. */
  lateShare: number
  lateMs: number
  /** In every so many conversations there are `burstSize` in a row of one agent and one `ts`; 0: one run, in large worlds. */
  burstEvery: number
  burstSize: number
  /** Hostile records, by rate of conversations. */
  hostile: Partial<Record<HostileName, Rate>>
  /** How the points that the API document leaves open are served (`readings.ts`); those that are not given have their default. */
  readings: Partial<Readings>
  /** Serves what the document shows and nothing else, and refuses parameters that it does not name; `readings` go before it. */
  literal: boolean
  /** Faults served from the start; they can be changed while it runs. */
  faults: FaultSettings
  /** Where events are sent from the start, and what befalls them; can be changed while it runs. */
  webhooks: WebhookSettings
}

export interface ResolvedOptions extends SandboxOptions {
  startMs: number
  readings: Readings
}

export const SANDBOX_DEFAULTS: SandboxOptions = {
  port: 4010,
  host: '127.0.0.1',
  workspaceId: 'ws_demo',
  token: 'sandbox-token',
  agents: 3,
  conversations: 20_000,
  historyDays: 90,
  arrivalsPerDay: 200,
  seed: 1,
  ts: 'created',
  traffic: false,
  tsUnit: 'ms',
  paid: true,
  limits: true,
  hourlyRequests: 1_500,
  hourMs: 3_600_000,
  quotaSessions: 50_000,
  periodDays: 30,
  latencyMs: 0,
  mirrorLagMs: 0,
  clockOffsetMs: 0,
  startMs: undefined,
  speed: 1,
  cacheBytes: 192 * 1024 * 1024,
  lateShare: 0,
  lateMs: 6 * 3_600_000,
  burstEvery: 0,
  burstSize: 150,
  hostile: {},
  readings: {},
  literal: false,
  faults: {},
  webhooks: {},
}

/** API document, section 8. */
const UNPAID_HOURLY_REQUESTS = 300

/** The index of a conversation takes 23 bits of an order key (`order.ts`). */
export const MAX_CONVERSATIONS = 2 ** 23 - 1

interface Range {
  min: number
  max: number
  integer: boolean
}

const whole = (min: number, max: number): Range => ({ min, max, integer: true })
const real = (min: number, max: number): Range => ({ min, max, integer: false })

const RANGES = {
  port: whole(0, 65_535),
  agents: whole(1, 10_000),
  conversations: whole(0, MAX_CONVERSATIONS),
  historyDays: real(0.001, 2_000),
  arrivalsPerDay: real(0, 1_000_000),
  seed: whole(-(2 ** 31), 2 ** 32 - 1),
  hourlyRequests: whole(1, 1_000_000),
  hourMs: whole(1, 31 * 86_400_000),
  quotaSessions: whole(0, 1_000_000_000),
  periodDays: real(0.0001, 3_660),
  latencyMs: whole(0, 600_000),
  mirrorLagMs: whole(0, 366 * 86_400_000),
  clockOffsetMs: whole(-3_660 * 86_400_000, 3_660 * 86_400_000),
  startMs: whole(Date.UTC(2000, 0, 1), Date.UTC(2200, 0, 1)),
  speed: real(0, 1_000_000),
  cacheBytes: whole(0, 2 ** 36),
  lateShare: real(0, 1),
  lateMs: whole(1, 366 * 86_400_000),
  burstEvery: whole(0, MAX_CONVERSATIONS),
  burstSize: whole(2, 10_000),
} satisfies Partial<Record<keyof SandboxOptions, Range>>

/**
 * Fills in what was not given. Three defaults depend on other options: an unpaid workspace has 300 requests an hour,
 * conversations arrive unasked only where the clock is the real one, so that a fixed `startMs` stays reproducible, and there is
 * traffic where there is an address that it is told to.
 * @throws ConvohouseError CONFIG_INVALID, naming the option and its range.
 */
export function resolveOptions(given: Partial<SandboxOptions>, realNowMs: number = Date.now()): ResolvedOptions {
  const told = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  const options: SandboxOptions = { ...SANDBOX_DEFAULTS, ...told }
  const onRealClock = options.startMs === undefined && options.speed === 1
  const resolved: ResolvedOptions = {
    ...options,
    startMs: options.startMs ?? realNowMs,
    readings: resolveReadings(options.readings, options.literal),
    hourlyRequests: given.hourlyRequests ?? (options.paid ? options.hourlyRequests : UNPAID_HOURLY_REQUESTS),
    traffic: given.traffic ?? typeof options.webhooks.url === 'string',
    arrivalsPerDay: given.arrivalsPerDay ?? (onRealClock ? options.arrivalsPerDay : 0),
  }
  for (const [name, range] of Object.entries(RANGES)) checkRange(name, resolved[name as keyof typeof RANGES], range)
  checkTexts(resolved)
  checkBursts(resolved)
  checkHostile(resolved)
  return resolved
}

function checkRange(name: string, value: number, { min, max, integer }: Range): void {
  if (value >= min && value <= max && (!integer || Number.isInteger(value))) return
  throw new ConvohouseError('CONFIG_INVALID', {
    what: `The sandbox's ${name} is ${value}`,
    hint: `Give a ${integer ? 'whole ' : ''}number from ${min} to ${max}.`,
    facts: { option: name },
  })
}

function checkBursts({ burstEvery, burstSize }: SandboxOptions): void {
  if (burstEvery === 0 || burstEvery >= burstSize) return
  throw new ConvohouseError('CONFIG_INVALID', {
    what: `The sandbox's burstEvery is ${burstEvery}, and its burstSize ${burstSize}`,
    hint: 'Give 0, or a burstEvery that is no smaller than burstSize.',
    facts: { option: 'burstEvery' },
  })
}

function checkHostile({ hostile }: SandboxOptions): void {
  const read = ratesSchema(HOSTILE, 'hostile record').safeParse(hostile)
  if (read.success) return
  throw new ConvohouseError('CONFIG_INVALID', {
    what: `The sandbox's hostile records cannot be read: ${issueTexts(read.error).join('; ')}`,
    hint: 'Give rates by name; docs/sandbox.md lists the names.',
    facts: { option: 'hostile' },
  })
}

function checkWord(name: 'ts' | 'tsUnit', word: string, known: readonly string[]): void {
  if (known.includes(word)) return
  throw new ConvohouseError('CONFIG_INVALID', {
    what: `The sandbox's ${name} is ${JSON.stringify(word)}`,
    hint: `Give one of ${known.join(', ')}.`,
    facts: { option: name },
  })
}

function checkTexts({ ts, tsUnit, token }: SandboxOptions): void {
  checkWord('ts', ts, ['created', 'activity'])
  checkWord('tsUnit', tsUnit, TS_UNITS)
  if (token === '') {
    throw new ConvohouseError('CONFIG_INVALID', {
      what: "The sandbox's token is empty",
      hint: 'Give a token of at least one character.',
      facts: { option: 'token' },
    })
  }
}
