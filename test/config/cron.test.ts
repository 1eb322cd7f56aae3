import { describe, expect, it } from 'vitest'
import { isCron } from '../../src/config/cron.ts'

// Temporal's server 1.29 answered the same for each of these.
describe('a cron expression', () => {
  it.each([
    ...['0 * * * *', '*/15 8-17 * * mon-fri', '5/15 * * * *', '0 0 1 jan-mar *', '0 0 1 january *', '0 0 * jun *'],
    ...['0 0 * * mo', '0 0 * * tu,th', '0 0 * * 7', '0 0 * * 1-7', '0 0 * * 0-7', '0 0 1 1-12/3 *', '*/99 * * * *'],
  ])('is accepted: %s', text => expect(isCron(text)).toBe(true))

  it.each([
    ...['99 * * * *', '0 24 * * *', '0 0 0 1 *', '0 0 32 * *', 'a b c d e', '*/0 * * * *', '*/5/2 * * * *'],
    ...['1,2,,3 * * * *', '1, * * * *', '5-3 * * * *', '1-2-3 * * * *', '5- * * * *', '-5 * * * *', '? * * * *'],
    ...['0 0 L * *', '0 0 * * m', '0 0 * * mon-frix', '0 0 1 januaryx *', '0 0 * * sat-sun', '0 0 * *', '0 0 * * * *'],
  ])('is refused before a schedule is created: %s', text => expect(isCron(text)).toBe(false))
})
