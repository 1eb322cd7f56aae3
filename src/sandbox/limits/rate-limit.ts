// The hourly request limit of the export (API document, section 8): a rolling hour.

/** The rate limit that is reported to a workspace without limits. */
const UNLIMITED = 1_000_000

interface RateLimitOptions {
  limits: boolean
  hourlyRequests: number
  hourMs: number
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
    return { admitted: false, retryAfterMs: this.times[0]! + this.options.hourMs - nowMs }
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

  /** Drops requests of earlier hours, and requests later than now, since the clock can be set back. */
  private forget(nowMs: number): void {
    const startMs = nowMs - this.options.hourMs
    const first = this.times[0]
    const last = this.times.at(-1)
    if (first === undefined || last === undefined || (first > startMs && last <= nowMs)) return
    this.times = this.times.filter(time => time > startMs && time <= nowMs)
  }
}
