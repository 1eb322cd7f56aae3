// Rules for measuring and evaluating waiting times: business hours, and targets of service levels (SLA).

/** Hours of one weekday, in minutes of the local day; `to` is at most 1,440. */
interface OpenHours {
  /** 1 (Monday) to 7 (Sunday). */
  weekday: number
  from: number
  to: number
}

export interface BusinessHours {
  /** Sorted by weekday and time, without overlaps. */
  hours: readonly OpenHours[]
  /** Local days without business hours: `2026-12-25`. */
  holidays: readonly string[]
}

/** Waits of a contact, each a row of fct_responses. */
export type ResponseMetric = 'first_response' | 'first_human_response' | 'next_response' | 'handoff' | 'resolution'

/** A rule for the conversations of these agents and channels; null means all. */
export interface ServiceLevel {
  name: string
  agents: readonly string[] | null
  channels: readonly string[] | null
  /** True if only business time counts. */
  isBusiness: boolean
  /** Maximum waits, in seconds. */
  targets: readonly { metric: ResponseMetric; seconds: number }[]
}

export interface ResponseRules {
  /** Null if always open. */
  businessHours: BusinessHours | null
  /** The first rule that matches and has a target for a wait applies to it. */
  serviceLevels: readonly ServiceLevel[]
}

export const NO_RESPONSE_RULES: ResponseRules = { businessHours: null, serviceLevels: [] }
