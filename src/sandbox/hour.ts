// The hourly limit of the export (API document, section 8), as a rolling hour.

/** Told to a workspace without limits. */
const UNLIMITED = 1_000_000

export interface HourOptions {
  limits: boolean
  hourlyRequests: number
  hourMs: number
}

export type Admission = { admitted: true } | { admitted: false; retryAfterMs: number }

/** Counts the requests of the last hour; refused ones are not counted. */
export class RollingHour {
  private readonly options: HourOptions
  private times: number[] = []

  constructor(options: HourOptions) {
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

  /** Requests that somebody else makes with the same token; beyond the limit they are refused as well. */
  take(requests: number, nowMs: number): void {
    if (!this.options.limits) return
    this.forget(nowMs)
    const free = this.options.hourlyRequests - this.times.length
    for (let taken = 0; taken < Math.min(requests, free); taken++) this.times.push(nowMs)
  }

  /** What a restart of the process that counts does. */
  restart(): void {
    this.times = []
  }

  remaining(nowMs: number): number {
    if (!this.options.limits) return UNLIMITED
    this.forget(nowMs)
    return this.options.hourlyRequests - this.times.length
  }

  /** Drops what is an hour old; and what lies ahead, for the clock can be set back. */
  private forget(nowMs: number): void {
    const startMs = nowMs - this.options.hourMs
    const first = this.times[0]
    const last = this.times.at(-1)
    if (first === undefined || last === undefined || (first > startMs && last <= nowMs)) return
    this.times = this.times.filter(time => time > startMs && time <= nowMs)
  }
}
