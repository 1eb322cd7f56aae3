// The sandbox's options, their defaults and ranges.
import type { FaultSettings } from './faults/fault-settings.ts'
import type { HostileRates } from './hostile/hostility.ts'
import type { WebhookSettings } from './webhooks.ts'

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

export const SANDBOX_DEFAULTS = {
  /** TCP port; 0 takes any that is free. */
  port: 4010,
  host: '127.0.0.1',
  workspaceId: 'ws_demo',
  token: 'sandbox-token',
  agents: 3,
  /** Number of conversations at the start, over all agents; they began in the `historyDays` before `startMs`. */
  conversations: 20_000,
  historyDays: 90,
  /** New conversations per day after `startMs`, over all agents. */
  arrivalsPerDay: 200,
  seed: 1,
  /** IANA name of the workspace's time zone, in which contacts write and people work. */
  timeZone: 'UTC',
  /** Meaning of the record's `ts`: its first message, or its last activity (notes on the API, "What is `ts`"). */
  ts: 'created' as 'created' | 'activity',
  /** True to rename agents from time to time and to report that organizations and their clients come and go. */
  traffic: false,
  /** `hasEverPaid` of the workspace; false refuses the export. */
  paid: true,
  hourlyRequests: 1_500,
  /** Length of the "hour" of the hourly limit, so that tests do not wait for a real one. */
  hourMs: 3_600_000,
  /** Billable sessions included in a billing period. */
  quotaSessions: 50_000,
  periodDays: 30,
  /** Delay before each answer of the API, in real ms. */
  latencyMs: 0,
  /** Lag of the export's mirror behind the clock, in ms. */
  mirrorLagMs: 0,
  /** The sandbox's clock at the start, in ms since the epoch; undefined for real time. */
  startMs: undefined as number | undefined,
  /** Sandbox seconds per real second; 0 stops the clock. */
  speed: 1,
  /** Bytes of rendered records kept in memory; 0 disables the cache. */
  cacheBytes: 192 * 1024 * 1024,
  /** Share of conversations with each kind of hostile record. */
  hostile: {} as HostileRates,
  /** Readings other than the default ones. */
  readings: {} as Partial<Readings>,
  /** Faults served from the start; can be changed while it runs. */
  faults: {} as FaultSettings,
  /** Address of webhook events and their secret. */
  webhooks: {} as WebhookSettings,
}

export type SandboxOptions = typeof SANDBOX_DEFAULTS

export interface ResolvedOptions extends SandboxOptions {
  startMs: number
  readings: Readings
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
