import { expect, it } from 'vitest'
import { lastTimes } from '../../src/core/cron.ts'

/** A Sunday. */
const NOW = Date.parse('2026-11-22T12:00:00Z')

it.each([
  ['0 4 * * mon-fri', ['2026-11-20T04:00', '2026-11-19T04:00']],
  ['*/20 9-17 * * *', ['2026-11-22T12:00', '2026-11-22T11:40']],
  ['30 6 1,15 * *', ['2026-11-15T06:30', '2026-11-01T06:30']],
  [' 5 0 * * 7 ', ['2026-11-22T00:05', '2026-11-15T00:05']],
  ['0 0 */2 FEB *', ['2026-02-27T00:00', '2026-02-25T00:00']],
  ['0 0 30 2 *', []],
  ['a b c d e', []],
])('the last times of %j', (cron, expected) => {
  const texts = lastTimes(cron, NOW, 2).map(ms => new Date(ms).toISOString().slice(0, 16))
  expect(texts.slice(0, 2)).toEqual(expected)
})
