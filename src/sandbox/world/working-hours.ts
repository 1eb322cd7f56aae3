// The working week in the workspace's time zone: when contacts write, and when people work.
import { DAY, HOUR, MINUTE } from '../../core/time.ts'
import type { ResolvedOptions } from '../options.ts'

const WEEK = 7 * DAY
/** 1970-01-01 was a Thursday; weeks begin on Monday. */
const EPOCH_IN_WEEK = 3 * DAY

/** Relative activity by local hour of a working day, and its shares on Saturdays and Sundays. */
const CONTACTS = [3, 2, 2, 2, 2, 3, 4, 5, 7, 9, 10, 9, 7, 8, 9, 9, 8, 8, 7, 7, 6, 5, 4, 3]
const CONTACTS_AT_WEEKENDS = [0.7, 0.6]
const STAFF = [0, 0, 0, 0, 0, 0, 0, 0, 4, 10, 10, 10, 4, 9, 10, 10, 9, 5, 0, 0, 0, 0, 0, 0]
const BUSIEST = 10
const STAFF_AT_WEEKENDS = [0.2, 0]

export type Rhythm = ReturnType<typeof createRhythm>

/** Creates the hours of contacts and of people. The zone keeps its offset at the start, because the order of conversations depends on it. */
export function createWorkingHours({ timeZone, startMs }: Pick<ResolvedOptions, 'timeZone' | 'startMs'>) {
  const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' })
  const [, sign, hours, minutes] = /([+-])(\d+):(\d+)/.exec(format.format(startMs)) ?? [undefined, '+', 0, 0]
  const offsetMs = Number(`${sign}1`) * (Number(hours) * HOUR + Number(minutes) * MINUTE)
  return {
    contacts: createRhythm(CONTACTS, CONTACTS_AT_WEEKENDS, offsetMs),
    staff: createRhythm(STAFF, STAFF_AT_WEEKENDS, offsetMs),
  }
}

function createRhythm(day: readonly number[], weekend: readonly number[], offsetMs: number) {
  const hours = [1, 1, 1, 1, 1, ...weekend].flatMap(share => day.map(activity => activity * share))
  const whole = hours.reduce((sum, activity) => sum + activity, 0)
  // Activity from Monday to the begin of each hour, and the last hour that begins before each multiple of an hour of activity.
  const until = [0]
  for (const activity of hours) until.push(until.at(-1)! + (activity / whole) * WEEK)
  until[hours.length] = WEEK
  const hourAt = hours.map((_, hour) => until.findLastIndex(reached => reached <= hour * HOUR))
  const inWeekOf = (ms: number) => ms - Math.floor(ms / WEEK) * WEEK
  /** Returns the activity until that time, in ms: during a whole week as many as the week has. */
  const level = (ms: number): number => {
    const local = ms + offsetMs + EPOCH_IN_WEEK
    const inWeek = inWeekOf(local)
    const hour = Math.floor(inWeek / HOUR)
    return local - inWeek + until[hour]! + (inWeek / HOUR - hour) * (until[hour + 1]! - until[hour]!)
  }
  return {
    level,
    /** Returns the time after which that much activity has passed. */
    after(ms: number, activityMs: number): number {
      const reached = level(ms) + activityMs
      const inWeek = inWeekOf(reached)
      let hour = hourAt[Math.floor(inWeek / HOUR)]!
      while (until[hour + 1]! <= inWeek) hour++
      const share = (inWeek - until[hour]!) / (until[hour + 1]! - until[hour]!)
      return Math.ceil(reached - inWeek + (hour + share) * HOUR - offsetMs - EPOCH_IN_WEEK)
    },
    /** Returns the activity of that hour, 1 in the busiest. */
    load: (ms: number): number => hours[Math.floor(inWeekOf(ms + offsetMs + EPOCH_IN_WEEK) / HOUR)]! / BUSIEST,
  }
}
