// Rates as they are sent or given as options: checked against the table of what can happen.
import { z } from 'zod'
import type { RateTable } from './rate.ts'
import { nameIssue, paramIssue, paramOf } from './rate.ts'

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
