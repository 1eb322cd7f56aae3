// The sandbox's options, their defaults and ranges.
import type { FaultSettings } from './faults/fault-settings.ts'
import type { HostileRates } from './hostile/hostility.ts'
import type { WebhookSettings } from './webhooks/webhook-settings.ts'

/** Readings: points that the API document leaves open and on which the client depends. */
export interface Readings {
  /** `inclusive`: a page of the audit log begins with all entries of the second `cursorTs`; `exclusive`: with the first older one. */
  auditCursor: 'inclusive' | 'exclusive'
  /** `nextCursorTs` of the last page: null, or the second of its last entry. */
  lastAuditCursor: 'null' | 'present'
  /** Maximum number of agents and of teams on a page. */
  agentPage: number
  teamPage: number
}

const READINGS: Readings = {
  auditCursor: 'inclusive',
  lastAuditCursor: 'null',
  agentPage: Number.POSITIVE_INFINITY,
  teamPage: Number.POSITIVE_INFINITY,
}

export interface SandboxOptions {
  /** TCP port; 0 takes any that is free. */
  port: number
  host: string
  workspaceId: string
  token: string
  agents: number
  /** Number of conversations at the start, over all agents; they began in the `historyDays` before `startMs`. */
  conversations: number
  historyDays: number
  /** New conversations per day after `startMs`, over all agents. */
  arrivalsPerDay: number
  seed: number
  /** Meaning of the record's `ts`: its first message, or its last activity (notes on the API, "What is `ts`"). */
  ts: 'created' | 'activity'
  /** True to rename agents from time to time and to report that organizations and their clients come and go. */
  traffic: boolean
  /** `hasEverPaid` of the workspace; false refuses the export. */
  paid: boolean
  /** False lifts the hourly limit and the quota. */
  limits: boolean
  hourlyRequests: number
  /** Length of the "hour" of the hourly limit, so that tests do not wait for a real one. */
  hourMs: number
  /** Billable sessions included in a billing period. */
  quotaSessions: number
  periodDays: number
  /** Delay before each answer of the API, in real ms. */
  latencyMs: number
  /** Lag of the export's mirror behind the clock, in ms. */
  mirrorLagMs: number
  /** The sandbox's clock at the start, in ms since the epoch; undefined for real time. */
  startMs: number | undefined
  /** Sandbox seconds per real second; 0 stops the clock. */
  speed: number
  /** Bytes of rendered records kept in memory; 0 disables the cache. */
  cacheBytes: number
  /** Share of conversations with each kind of hostile record. */
  hostile: HostileRates
  /** Readings other than the default ones. */
  readings: Partial<Readings>
  /** Faults served from the start; can be changed while it runs. */
  faults: FaultSettings
  /** Webhook address at the start; can be changed while it runs. */
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
  paid: true,
  limits: true,
  hourlyRequests: 1_500,
  hourMs: 3_600_000,
  quotaSessions: 50_000,
  periodDays: 30,
  latencyMs: 0,
  mirrorLagMs: 0,
  startMs: undefined,
  speed: 1,
  cacheBytes: 192 * 1024 * 1024,
  hostile: {},
  readings: {},
  faults: {},
  webhooks: {},
}

/** API document, section 8. */
const UNPAID_HOURLY_REQUESTS = 300

/** The order of conversations is held in memory. */
export const MAX_CONVERSATIONS = 5_000_000

/**
 * Fills in defaults. Three depend on other options: an unpaid workspace has 300 requests per hour; conversations arrive
 * by default only on the real clock, so that a fixed `startMs` stays reproducible; a webhook address turns traffic on.
 * The command checks the ranges.
 */
export function resolveOptions(given: Partial<SandboxOptions>, realNowMs: number = Date.now()): ResolvedOptions {
  const defined = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  const options: SandboxOptions = { ...SANDBOX_DEFAULTS, ...defined }
  const onRealClock = options.startMs === undefined && options.speed === 1
  return {
    ...options,
    startMs: options.startMs ?? realNowMs,
    readings: { ...READINGS, ...options.readings },
    hourlyRequests: given.hourlyRequests ?? (options.paid ? options.hourlyRequests : UNPAID_HOURLY_REQUESTS),
    traffic: given.traffic ?? typeof options.webhooks.url === 'string',
    arrivalsPerDay: given.arrivalsPerDay ?? (onRealClock ? options.arrivalsPerDay : 0),
  }
}
