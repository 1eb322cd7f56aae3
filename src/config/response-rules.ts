// The settings `businessHours` and `sla` of a workspace, by which `fct_responses` measures and evaluates waiting times.
import { z } from 'zod'
import type { BusinessHours, ResponseMetric, ResponseRules, ServiceLevel } from '../core/response-rules.ts'
import { duration } from './values.ts'

const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const

const HOURS = 'must be hours such as 09:00-17:00, from 00:00 to 24:00; write a night as two days'

const RANGE = /^([01]\d|2[0-3]):([0-5]\d)-(?:([01]\d|2[0-4]):([0-5]\d))$/

/** Returns `09:00-17:30` as minutes of the day; undefined if the text is no such range. */
function rangeOf(text: string): { from: number; to: number } | undefined {
  const parts = RANGE.exec(text)
  if (!parts) return undefined
  const [from, to] = [Number(parts[1]) * 60 + Number(parts[2]), Number(parts[3]) * 60 + Number(parts[4])]
  return from < to && to <= 24 * 60 ? { from, to } : undefined
}

const range = z
  .string({ error: HOURS })
  .refine(text => rangeOf(text) !== undefined, HOURS)
  .transform(text => rangeOf(text)!)

const dayHours = z
  .union([range, z.array(range)], { error: HOURS })
  .transform(given => [given].flat().sort((a, b) => a.from - b.from))
  .refine(ranges => ranges.every(({ from }, index) => index === 0 || from >= ranges[index - 1]!.to), 'must not overlap')

const DAY = 'must be a day such as 2026-12-25'

const day = z
  .union([z.string(), z.date().transform(date => date.toISOString().slice(0, 10))], { error: DAY })
  .refine(text => /^\d{4}-\d{2}-\d{2}$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.startsWith(text), DAY)

const days = Object.fromEntries(WEEKDAYS.map(name => [name, dayHours.optional()])) as Record<
  (typeof WEEKDAYS)[number],
  z.ZodOptional<typeof dayHours>
>

const businessHours = z
  .strictObject({ ...days, holidays: z.array(day).default([]) })
  .refine(
    given => WEEKDAYS.some(name => (given[name] ?? []).length > 0),
    'must have the hours of at least one day; leave the setting out if you are always open',
  )

const target = duration.refine(ms => ms >= 1_000, 'must be 1s at least').optional()

const TARGETS = {
  firstResponse: 'first_response',
  firstHumanResponse: 'first_human_response',
  nextResponse: 'next_response',
  handoff: 'handoff',
  resolution: 'resolution',
} as const satisfies Record<string, ResponseMetric>

const TARGET_NAMES = Object.keys(TARGETS) as (keyof typeof TARGETS)[]

const names = z.array(z.string().min(1)).min(1, 'must name at least one').optional()

const serviceLevel = z
  .strictObject({
    name: z.string().min(1),
    agents: names,
    channels: names,
    hours: z.enum(['business', 'calendar']).optional(),
    ...(Object.fromEntries(TARGET_NAMES.map(name => [name, target])) as Record<keyof typeof TARGETS, typeof target>),
  })
  .refine(
    given => TARGET_NAMES.some(name => given[name] !== undefined),
    `must have a target: ${TARGET_NAMES.join(', ')}`,
  )

export const responseRuleShape = {
  businessHours: businessHours.optional(),
  sla: z
    .array(serviceLevel)
    .refine(all => new Set(all.map(({ name }) => name)).size === all.length, 'must have different names')
    .default([]),
}

const hoursOf = (given: z.infer<typeof businessHours>): BusinessHours => ({
  hours: WEEKDAYS.flatMap((name, index) => (given[name] ?? []).map(open => ({ weekday: index + 1, ...open }))),
  holidays: [...new Set(given.holidays)].sort(),
})

const levelOf = (given: z.infer<typeof serviceLevel>, hasHours: boolean): ServiceLevel => ({
  name: given.name,
  agents: given.agents ?? null,
  channels: given.channels ?? null,
  isBusiness: (given.hours ?? (hasHours ? 'business' : 'calendar')) === 'business',
  targets: TARGET_NAMES.flatMap(name => {
    const ms = given[name]
    return ms === undefined ? [] : [{ metric: TARGETS[name], seconds: Math.round(ms / 1_000) }]
  }),
})

export const responseRules = (given: z.infer<z.ZodObject<typeof responseRuleShape>>): ResponseRules => ({
  businessHours: given.businessHours ? hoursOf(given.businessHours) : null,
  serviceLevels: given.sla.map(level => levelOf(level, given.businessHours !== undefined)),
})
