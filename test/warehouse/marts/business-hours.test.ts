// Business time and deadlines of fct_responses equal those of a walk over each minute, even if the clocks change. Cases
// of the corpus test the same in each run: `service-levels`, `business-hours-across-clocks`.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { BusinessHours } from '../../../src/core/response-rules.ts'
import { DAY, MINUTE } from '../../../src/core/time.ts'
import { refreshMarts } from '../../../src/warehouse/marts/refresh.ts'
import { storeResponseRules } from '../../../src/warehouse/marts/response-rules.ts'
import { isDeep, rounds } from '../../tier.ts'
import { landConversations } from '../landed-pages.ts'
import { temporaryWarehouse } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

/** Zones whose clocks change within a week of the day: by an hour, by half an hour, at midnight, by a whole day, or not at all. */
const ZONES = [
  ['Europe/Berlin', '2026-03-29'],
  ['Europe/Berlin', '2026-10-25'],
  ['America/New_York', '2025-11-02'],
  ['Australia/Lord_Howe', '2026-04-05'],
  ['America/Santiago', '2025-09-07'],
  ['Pacific/Apia', '2011-12-30'],
  ['Asia/Kathmandu', '2026-06-01'],
] as const

const QUARTER = 15 * MINUTE

/** Returns the offset of a zone, ms. It only changes at quarters of an hour. */
function offsets(zone: string): (atMs: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    dateStyle: 'short',
    timeStyle: 'medium',
  })
  const known = new Map<number, number>()
  return atMs => {
    const quarter = Math.floor(atMs / QUARTER) * QUARTER
    let offset = known.get(quarter)
    if (offset === undefined) {
      offset = Date.parse(`${format.format(quarter)} UTC`) - quarter
      known.set(quarter, offset)
    }
    return offset
  }
}

/** True if the wall clock shows business hours in the minute that begins then. */
function isOpen({ hours, holidays }: BusinessHours, offsetAt: (atMs: number) => number) {
  return (atMs: number): boolean => {
    const wall = new Date(atMs + offsetAt(atMs))
    const minute = wall.getUTCHours() * 60 + wall.getUTCMinutes()
    const weekday = ((wall.getUTCDay() + 6) % 7) + 1
    if (holidays.includes(wall.toISOString().slice(0, 10))) return false
    return hours.some(open => open.weekday === weekday && open.from <= minute && minute < open.to)
  }
}

type Range = { from: number; to: number }
const range: fc.Arbitrary<Range> = fc
  .tuple(fc.integer({ min: 0, max: 1440 }), fc.integer({ min: 0, max: 1440 }))
  .filter(([a, b]) => a !== b)
  .map(([a, b]) => ({ from: Math.min(a, b), to: Math.max(a, b) }))
const ranges: fc.Arbitrary<Range[]> = fc
  .oneof(fc.constant<Range[]>([{ from: 0, to: 1440 }]), fc.array(range, { maxLength: 2 }))
  .map(all =>
    all.sort((a, b) => a.from - b.from).filter(({ from }, index) => index === 0 || from >= all[index - 1]!.to),
  )
const scene = fc.record({
  zone: fc.constantFrom(...ZONES),
  week: fc.array(ranges, { minLength: 7, maxLength: 7 }).filter(week => week.some(day => day.length > 0)),
  holiday: fc.integer({ min: -5, max: 5 }),
  targetMinutes: fc.integer({ min: 1, max: 3_000 }),
  waits: fc.array(
    fc.record({ start: fc.integer({ min: -7_200, max: 7_200 }), minutes: fc.integer({ min: 0, max: 9_000 }) }),
    {
      minLength: 12,
      maxLength: 12,
    },
  ),
})

const LONGEST = 40 * 24 * 60

it.runIf(isDeep)('is what a walk over each minute finds', async () => {
  let conversations = 0
  await fc.assert(
    fc.asyncProperty(scene, async ({ zone: [timeZone, day], week, holiday, targetMinutes, waits }) => {
      const { id, landing, load } = app.workspace({ timeZone })
      const noonMs = Date.parse(`${day}T12:00:00Z`)
      const businessHours = {
        hours: week.flatMap((open, index) => open.map(one => ({ weekday: index + 1, ...one }))),
        holidays: [new Date(noonMs + holiday * DAY).toISOString().slice(0, 10)],
      }
      const level = { name: 'all', agents: null, channels: null, isBusiness: true }
      const serviceLevels = [{ ...level, targets: [{ metric: 'handoff' as const, seconds: targetMinutes * 60 }] }]
      const { writer } = app.warehouse
      await writer.transaction(() => storeResponseRules(writer, id, { timeZone, businessHours, serviceLevels }))
      const records = waits.map(({ start, minutes }) => {
        const requestedAt = noonMs + start * MINUTE
        return {
          ID: `c${++conversations}`,
          lastModified: requestedAt,
          handoffHistory: [{ requestedAt, acceptedAt: requestedAt + minutes * MINUTE }],
        }
      })
      await load(await landConversations(landing, { records }))
      await refreshMarts(writer)
      const rows = await writer.rows<{ id: string; business: number; due: string | null; isMet: boolean | null }>(
        `SELECT conversation_id AS id, wait_business_seconds AS business, epoch_ms(deadline_at)::VARCHAR AS due, is_met AS "isMet"
         FROM marts.fct_responses WHERE workspace_id = '${id}'`,
      )
      const none = { timeZone, businessHours: null, serviceLevels: [] }
      await writer.transaction(() => storeResponseRules(writer, id, none))
      const open = isOpen(businessHours, offsets(timeZone))
      for (const { ID, handoffHistory } of records) {
        const [{ requestedAt, acceptedAt }] = handoffHistory as [(typeof handoffHistory)[number]]
        let [waited, business, dueMs] = [0, 0, null as number | null]
        for (
          let at = requestedAt, walked = 0;
          walked < LONGEST && (at < acceptedAt || dueMs === null);
          at += MINUTE, walked++
        ) {
          if (!open(at)) continue
          // The target lasts until the first minute that counts beyond it.
          if (business === targetMinutes) dueMs ??= at
          business += 1
          if (at < acceptedAt) waited += 1
        }
        const found = rows.find(row => row.id === ID)!
        expect(found.business).toBe(waited * 60)
        if (dueMs === null) continue
        expect([Number(found.due), found.isMet]).toEqual([dueMs, waited <= targetMinutes])
      }
    }),
    { numRuns: rounds('BUSINESS_HOURS_RUNS', { usual: 1, deep: 100 }) },
  )
})
