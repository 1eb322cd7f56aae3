import { expect, it } from 'vitest'
import { systemClock } from '../src/clock.ts'

/** Sets the wall clock during `work`, as a person or a time server does. */
function whileSetBy<T>(ms: number, work: () => T): T {
  const wall = Date.now
  Date.now = () => wall() + ms
  try {
    return work()
  } finally {
    Date.now = wall
  }
}

it('time continues if the clock is set back, and follows if it is set forward', () => {
  const before = systemClock.now()
  expect(whileSetBy(-86_400_000, systemClock.now)).toBeGreaterThanOrEqual(before)
  expect(whileSetBy(3_600_000, systemClock.now)).toBeGreaterThanOrEqual(before + 3_600_000)
  expect(systemClock.now()).toBeGreaterThanOrEqual(before + 3_600_000)
})
