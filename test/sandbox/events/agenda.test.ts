import { describe, expect, it } from 'vitest'
import { Agenda } from '../../../src/sandbox/events/happenings.ts'
import { DAY } from '../caller.ts'

const HOUR = 3_600_000
const MINUTE = 60_000

/** A conversation begins each minute, lasts half an hour, and has an event ten days later. */
function minutely() {
  const looked: number[] = []
  const createdMs = (index: number) => index * MINUTE
  const placement = { createdMs, shownMs: createdMs, agentOf: () => 0, leaderOf: (index: number) => index }
  const agenda = new Agenda({
    placement,
    limit: 1_000_000,
    eachSpan(index, see) {
      looked.push(index)
      see(createdMs(index), createdMs(index) + 30 * MINUTE)
      see(createdMs(index) + 10 * DAY, createdMs(index) + 10 * DAY)
      see(createdMs(index), createdMs(index))
    },
  })
  return { agenda, looked }
}

/** Hour of the agenda at which a conversation of that index begins. */
const hourOf = (index: number) => Math.floor((index * MINUTE) / HOUR)

describe('the agenda of an hour', () => {
  it('holds those that begin in it, go on in it, or have something to tell in it, each once', () => {
    const { agenda } = minutely()
    const hour = hourOf(500_000)
    const begins = [...Array(60).keys()].map(place => hour * 60 + place)
    const goOn = [...Array(30).keys()].map(place => hour * 60 - 30 + place)
    const later = begins.map(index => index - 10 * 24 * 60)
    expect(agenda.inHour(hour).toSorted((a, b) => a - b)).toEqual([...later, ...goOn, ...begins])
  })

  it('is found without looking at any that began longer ago than a conversation lasts, or later', () => {
    const { agenda, looked } = minutely()
    agenda.inHour(hourOf(500_000))
    expect(looked.length).toBeLessThanOrEqual(65 * 24 * 60 + 120)
    expect(Math.max(...looked)).toBeLessThan(500_000 + 60)
  })

  it('costs for the next hour only those that began since', () => {
    const { agenda, looked } = minutely()
    const hour = hourOf(500_000)
    agenda.inHour(hour)
    const before = looked.length
    agenda.inHour(hour + 1)
    expect(looked.length - before).toBe(60)
  })

  it('is the same however hours are asked for', () => {
    const asked = [0, 1, 400, 399, 5_000, 200].map(ahead => hourOf(200_000) + ahead)
    const { agenda } = minutely()
    for (const hour of asked) {
      const alone = minutely().agenda.inHour(hour)
      expect(agenda.inHour(hour).toSorted((a, b) => a - b)).toEqual(alone.toSorted((a, b) => a - b))
    }
  })
})
