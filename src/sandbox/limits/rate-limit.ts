// The hourly request limit of the export (API document, section 8), rolling or by fixed hours.
import type { Readings } from '../readings.ts'

/** The rate limit that is reported to a workspace without limits. */
const UNLIMITED = 1_000_000

interface RateLimitOptions {
  limits: boolean
  hourlyRequests: number
  hourMs: number
  readings: Readings
}

type Admission = { admitted: true } | { admitted: false; retryAfterMs: number }

/** Counts the requests of the last hour, except those refused with 429. */
export class RateLimit {
  private readonly options: RateLimitOptions
  private times: number[] = []

  constructor(options: RateLimitOptions) {
    this.options = options
  }

  get requestsPerHour(): number {
    return this.options.limits ? this.options.hourlyRequests : UNLIMITED
  }

  admit(nowMs: number): Admission {
    if (!this.options.limits) return { admitted: true }
    this.forget(nowMs)
    if (this.times.length < this.options.hourlyRequests) {
      this.times.push(nowMs)
      return { admitted: true }
    }
    return { admitted: false, retryAfterMs: this.firstMs(nowMs) + this.options.hourMs - nowMs }
  }

  /** Counts requests up to the limit, as if another user of the token had sent them. */
  take(requests: number, nowMs: number): void {
    if (!this.options.limits) return
    this.forget(nowMs)
    const free = this.options.hourlyRequests - this.times.length
    for (let taken = 0; taken < Math.min(requests, free); taken++) this.times.push(nowMs)
  }

  /** Resets the count, as a restart of the counting process does. */
  restart(): void {
    this.times = []
  }

  remaining(nowMs: number): number {
    if (!this.options.limits) return UNLIMITED
    this.forget(nowMs)
    return this.options.hourlyRequests - this.times.length
  }

  /** Start of the current hour: the time of its oldest request, or the start of the fixed hour. Call only if the hour has a request. */
  private firstMs(nowMs: number): number {
    const { readings, hourMs } = this.options
    return readings.hour === 'fixed' ? Math.floor(nowMs / hourMs) * hourMs : this.times[0]!
  }

  /** Drops requests of earlier hours, and requests later than now, since the clock can be set back. */
  private forget(nowMs: number): void {
    const { readings, hourMs } = this.options
    const startMs = readings.hour === 'fixed' ? this.firstMs(nowMs) - 1 : nowMs - hourMs
    const first = this.times[0]
    const last = this.times.at(-1)
    if (first === undefined || last === undefined || (first > startMs && last <= nowMs)) return
    this.times = this.times.filter(time => time > startMs && time <= nowMs)
  }
}
