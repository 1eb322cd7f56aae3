// The sandbox's options, their defaults and ranges.
import type { FaultSettings } from './faults/fault-settings.ts'
import { HOSTILE, type HostileName } from './hostile/hostile-table.ts'
import { invalidOption, issueTexts, type Rate, ratesSchema } from './rates.ts'
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
  /** Conversations at the start, over all agents; they began in the `historyDays` before `startMs`. */
  conversations: number
  historyDays: number
  /** New conversations per day after `startMs`, over all agents. */
  arrivalsPerDay: number
  seed: number
  /** What the record's `ts` means: first message or last activity (notes on the API, "What is `ts`"). */
  ts: 'created' | 'activity'
  /** Conversations also change within their sessions and days after them: handoffs, surveys, CRM notes. */
  traffic: boolean
  /** Unit of the record's `ts`. */
  tsUnit: TsUnit
  /** `hasEverPaid` of the workspace; false: the export is refused. */
  paid: boolean
  /** False lifts the hourly limit and the quota. */
  limits: boolean
  hourlyRequests: number
  /** Length of the "hour" of the hourly limit, so that tests do not wait for a real one. */
  hourMs: number
  /** Billable sessions included in a billing period. */
  quotaSessions: number
  periodDays: number
  /** Real milliseconds before each answer of the API. */
  latencyMs: number
  /** How far the export's mirror lags behind the clock, in ms. */
  mirrorLagMs: number
  /** Added to the `Date` header of every answer, to simulate a vendor with a wrong clock, in ms. */
  clockOffsetMs: number
  /** The sandbox's clock at the start, in ms since the epoch; undefined: real time. */
  startMs: number | undefined
  /** Sandbox seconds per real second; 0 stops the clock. */
  speed: number
  /** Rendered records kept in memory, in bytes; 0 disables the cache. */
  cacheBytes: number
  /** Share of conversations that reach the mirror late, each with its own delay of at most `lateMs`. */
  lateShare: number
  lateMs: number
  /** Of every `burstEvery` conversations, `burstSize` consecutive ones share an agent and a `ts`; 0: one such burst, in large worlds. */
  burstEvery: number
  burstSize: number
  /** Share of conversations with each kind of hostile record. */
  hostile: Partial<Record<HostileName, Rate>>
  /** How to serve the points that the API document leaves open (`readings.ts`); the others keep their default. */
  readings: Partial<Readings>
  /** Serves only what the document shows, and refuses parameters that it does not name; `readings` take precedence. */
  literal: boolean
  /** Faults served from the start; can be changed while it runs. */
  faults: FaultSettings
  /** Folder in which writes of callers outlive a restart; undefined: they end with the process. */
  data: string | undefined
  /** Webhook address and event faults at the start; can be changed while it runs. */
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
  data: undefined,
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
 * Fills in defaults. Three depend on other options: an unpaid workspace has 300 requests per hour; conversations arrive by
 * default only on the real clock, so that a fixed `startMs` stays reproducible; a webhook address turns traffic on.
 * @throws ConvohouseError CONFIG_INVALID, naming the option and its range.
 */
export function resolveOptions(given: Partial<SandboxOptions>, realNowMs: number = Date.now()): ResolvedOptions {
  const defined = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  const options: SandboxOptions = { ...SANDBOX_DEFAULTS, ...defined }
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
  throw invalidOption(name, `cannot be ${value}`, `Give a ${integer ? 'whole ' : ''}number from ${min} to ${max}.`)
}

function checkBursts({ burstEvery, burstSize }: SandboxOptions): void {
  if (burstEvery === 0 || burstEvery >= burstSize) return
  const problem = `(${burstEvery}) is smaller than its burstSize (${burstSize})`
  throw invalidOption('burstEvery', problem, 'Give 0, or a burstEvery of at least burstSize.')
}

function checkHostile({ hostile }: SandboxOptions): void {
  const read = ratesSchema(HOSTILE, 'hostile record').safeParse(hostile)
  if (read.success) return
  const problem = `records cannot be read: ${issueTexts(read.error).join('; ')}`
  throw invalidOption('hostile', problem, 'Give rates by name; docs/sandbox.md lists the names.')
}

function checkWord(name: 'ts' | 'tsUnit', word: string, known: readonly string[]): void {
  if (known.includes(word)) return
  throw invalidOption(name, `cannot be ${JSON.stringify(word)}`, `Give one of ${known.join(', ')}.`)
}

function checkTexts({ ts, tsUnit, token }: SandboxOptions): void {
  checkWord('ts', ts, ['created', 'activity'])
  checkWord('tsUnit', tsUnit, TS_UNITS)
  if (token === '') throw invalidOption('token', 'is empty', 'Give a token of at least one character.')
}
