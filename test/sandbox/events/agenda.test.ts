import { describe, expect, it } from 'vitest'
import { Agenda } from '../../../src/sandbox/events/happenings.ts'
import { DAY } from '../caller.ts'

const HOUR = 3_600_000
const MINUTE = 60_000

/** A conversation begins each minute, lasts half an hour, and has an event ten days later. */
function minutely() {
  const visited: number[] = []
  const createdMs = (index: number) => index * MINUTE
  const placement = { createdMs, shownMs: createdMs, agentOf: () => 0, leaderOf: (index: number) => index }
  const agenda = new Agenda({
    placement,
    limit: 1_000_000,
    eachSpan(index, see) {
      visited.push(index)
      see(createdMs(index), createdMs(index) + 30 * MINUTE)
      see(createdMs(index) + 10 * DAY, createdMs(index) + 10 * DAY)
      see(createdMs(index), createdMs(index))
    },
  })
  return { agenda, visited }
}

/** Hour of the agenda at which a conversation of that index begins. */
const hourOf = (index: number) => Math.floor((index * MINUTE) / HOUR)

describe('the agenda of an hour', () => {
  it('has the conversations that begin, continue or have an event in it, each once', () => {
    const { agenda } = minutely()
    const hour = hourOf(500_000)
    const begins = [...Array(60).keys()].map(place => hour * 60 + place)
    const continuing = [...Array(30).keys()].map(place => hour * 60 - 30 + place)
    const later = begins.map(index => index - 10 * 24 * 60)
    expect(agenda.inHour(hour).toSorted((a, b) => a - b)).toEqual([...later, ...continuing, ...begins])
  })

  it('is built without conversations that began too long before it, or after it', () => {
    const { agenda, visited } = minutely()
    agenda.inHour(hourOf(500_000))
    expect(visited.length).toBeLessThanOrEqual(65 * 24 * 60 + 120)
    expect(Math.max(...visited)).toBeLessThan(500_000 + 60)
  })

  it('is extended by the conversations that began since for the next hour', () => {
    const { agenda, visited } = minutely()
    const hour = hourOf(500_000)
    agenda.inHour(hour)
    const before = visited.length
    agenda.inHour(hour + 1)
    expect(visited.length - before).toBe(60)
  })

  it('is the same in whatever order hours are requested', () => {
    const hours = [0, 1, 400, 399, 5_000, 200].map(ahead => hourOf(200_000) + ahead)
    const { agenda } = minutely()
    for (const hour of hours) {
      const alone = minutely().agenda.inHour(hour)
      expect(agenda.inHour(hour).toSorted((a, b) => a - b)).toEqual(alone.toSorted((a, b) => a - b))
    }
  })
})
