// The hourly limit of the export (API document, section 8): of a rolling hour, or of a fixed one.
import type { Readings } from '../readings.ts'

/** Told to a workspace without limits. */
const UNLIMITED = 1_000_000

interface HourOptions {
  limits: boolean
  hourlyRequests: number
  hourMs: number
  readings: Readings
}

type Admission = { admitted: true } | { admitted: false; retryAfterMs: number }

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
    return { admitted: false, retryAfterMs: this.firstMs(nowMs) + this.options.hourMs - nowMs }
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

  /** What an hour is counted from: the oldest request, or the begin of the hour. The hour must hold a request. */
  private firstMs(nowMs: number): number {
    const { readings, hourMs } = this.options
    return readings.hour === 'fixed' ? Math.floor(nowMs / hourMs) * hourMs : this.times[0]!
  }

  /** Drops what is an hour old, or of the last hour; and what lies ahead, for the clock can be set back. */
  private forget(nowMs: number): void {
    const { readings, hourMs } = this.options
    const startMs = readings.hour === 'fixed' ? this.firstMs(nowMs) - 1 : nowMs - hourMs
    const first = this.times[0]
    const last = this.times.at(-1)
    if (first === undefined || last === undefined || (first > startMs && last <= nowMs)) return
    this.times = this.times.filter(time => time > startMs && time <= nowMs)
  }
}
