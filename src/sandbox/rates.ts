// How often something is to happen, and how much of it: faults by the request, hostile records by the record.
import { type ZodError, z } from 'zod'

/** A probability, alone or with the parameter of what it is the rate of. */
export type Rate = number | { rate: number; param?: number | undefined }

/** What a parameter may be; always a whole number. */
export interface Param {
  unit: 'ms' | 'count' | 'bytes'
  default: number
  min: number
  max: number
}

/** A table of things that can happen, by name. */
export type RateTable = Record<string, { param?: Param }>

export const shareOf = (rate: Rate): number => (typeof rate === 'number' ? rate : rate.rate)

export const paramOf = (rate: Rate): number | undefined => (typeof rate === 'number' ? undefined : rate.param)

/** Undefined for a name that the table has. */
export function nameIssue(table: RateTable, noun: string, name: string): string | undefined {
  if (Object.hasOwn(table, name)) return undefined
  return `there is no ${noun} ${JSON.stringify(name)}; known are ${Object.keys(table).join(', ')}`
}

/** Undefined for a parameter that can be used, or none; the name has to be of the table. */
export function paramIssue(table: RateTable, name: string, param: number | undefined): string | undefined {
  if (param === undefined) return undefined
  const bounds = table[name]!.param
  if (bounds === undefined) return `${name} takes no parameter`
  if (Number.isInteger(param) && param >= bounds.min && param <= bounds.max) return undefined
  return `the parameter of ${name} is a whole number from ${bounds.min} to ${bounds.max} (${bounds.unit})`
}

// Rates as they are sent or given as options: checked against the table of what can happen.

const Share = z.number().min(0).max(1)
const RateSetting = z.union([Share, z.strictObject({ rate: Share, param: z.number().optional() })], {
  error: 'a rate is a number from 0 to 1, or {rate, param}',
})

/** Rates by name, of the table's names only. `noun` is what messages call one of them. */
export function ratesSchema(table: RateTable, noun: string) {
  return z.record(z.string(), RateSetting).check(({ value, issues }) => {
    for (const [name, rate] of Object.entries(value)) {
      const message = nameIssue(table, noun, name) ?? paramIssue(table, name, paramOf(rate))
      if (message !== undefined) issues.push({ code: 'custom', input: name, message })
    }
  })
}

// What is wrong with settings that somebody sent, in words.

/** One text for each thing that is wrong, beginning with where it is. */
export function issueTexts(error: ZodError): string[] {
  return error.issues.map(({ path, message }) => [...path.map(String), message].join(': '))
}
