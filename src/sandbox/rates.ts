// Rates and parameters of faults (per request) and hostile records (per conversation), and their validation.
import { type ZodError, z } from 'zod'
import { ConvohouseError } from '../core/errors.ts'

/** Returns the refusal of an option of the sandbox. `problem` follows its name. */
export const invalidOption = (option: string, problem: string, hint: string): ConvohouseError =>
  new ConvohouseError('CONFIG_INVALID', { what: `The sandbox's ${option} ${problem}`, hint, facts: { option } })

/** A probability, optionally with the parameter of the fault. */
export type Rate = number | { rate: number; param?: number | undefined }

/** Range of a parameter, which is always a whole number. */
export interface Param {
  unit: 'ms' | 'count' | 'bytes'
  default: number
  min: number
  max: number
}

/** Faults or hostile records by name. */
export type RateTable = Record<string, { param?: Param }>

export const shareOf = (rate: Rate): number => (typeof rate === 'number' ? rate : rate.rate)

export const paramOf = (rate: Rate): number | undefined => (typeof rate === 'number' ? undefined : rate.param)

/** Returns what is wrong with a name; undefined if the table has it. */
function nameIssue(table: RateTable, noun: string, name: string): string | undefined {
  if (Object.hasOwn(table, name)) return undefined
  return `there is no ${noun} ${JSON.stringify(name)}; known are ${Object.keys(table).join(', ')}`
}

/** Returns what is wrong with a parameter; undefined if it is valid or omitted. The table must have the name. */
export function paramIssue(table: RateTable, name: string, param: number | undefined): string | undefined {
  if (param === undefined) return undefined
  const bounds = table[name]!.param
  if (bounds === undefined) return `${name} takes no parameter`
  if (Number.isInteger(param) && param >= bounds.min && param <= bounds.max) return undefined
  return `the parameter of ${name} is a whole number from ${bounds.min} to ${bounds.max} (${bounds.unit})`
}

const Share = z.number().min(0).max(1)
const RateSetting = z.union([Share, z.strictObject({ rate: Share, param: z.number().optional() })], {
  error: 'a rate is a number from 0 to 1, or {rate, param}',
})

/** Returns the schema for rates by name. In messages, an entry of the table is called `noun`. */
export function ratesSchema(table: RateTable, noun: string) {
  return z.record(z.string(), RateSetting).check(({ value, issues }) => {
    for (const [name, rate] of Object.entries(value)) {
      const message = nameIssue(table, noun, name) ?? paramIssue(table, name, paramOf(rate))
      if (message !== undefined) issues.push({ code: 'custom', input: name, message })
    }
  })
}

/** Returns one text per validation issue, beginning with its path. */
export function issueTexts(error: ZodError): string[] {
  return error.issues.map(({ path, message }) => [...path.map(String), message].join(': '))
}
