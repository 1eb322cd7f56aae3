// How waiting times are measured and judged: business hours, and targets of service levels (SLA).

/** Of one weekday. Minutes of the local day; `to` is 1,440 at most. */
interface OpenHours {
  /** 1 (Monday) to 7 (Sunday). */
  weekday: number
  from: number
  to: number
}

export interface BusinessHours {
  /** By weekday and time; none overlap. */
  hours: readonly OpenHours[]
  /** Local days without business hours: `2026-12-25`. */
  holidays: readonly string[]
}

/** What a contact waits for: a row of fct_responses. */
export const RESPONSE_METRICS = ['first_response', 'next_response', 'handoff', 'resolution'] as const

export type ResponseMetric = (typeof RESPONSE_METRICS)[number]

/** A rule that applies to the conversations of these agents and channels; null: of all. */
export interface ServiceLevel {
  name: string
  agents: readonly string[] | null
  channels: readonly string[] | null
  /** Only business time counts. */
  isBusiness: boolean
  /** The longest waits, in seconds. */
  targets: readonly { metric: ResponseMetric; seconds: number }[]
}

export interface ResponseRules {
  /** Null: always open. */
  businessHours: BusinessHours | null
  /** The first rule that matches and has a target for a wait applies to it. */
  serviceLevels: readonly ServiceLevel[]
}

export const NO_RESPONSE_RULES: ResponseRules = { businessHours: null, serviceLevels: [] }
