import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { responseRuleShape, responseRules } from '../../src/config/response-rules.ts'

const shape = z.strictObject(responseRuleShape)
const read = (given: object) => responseRules(shape.parse(given))
const problem = (given: object) => shape.safeParse(given).error?.issues[0]?.message

describe('business hours and service levels', () => {
  it('are none by default', () => {
    expect(read({})).toEqual({ businessHours: null, serviceLevels: [] })
  })

  it('are read with hours in minutes, and targets in seconds that count business time', () => {
    const given = {
      businessHours: {
        monday: ['13:00-24:00', '09:00-12:30'],
        sunday: '00:00-00:01',
        holidays: ['2026-12-25', '2026-12-25'],
      },
      sla: [
        { name: 'a', channels: ['webchat'], firstResponse: '5m' },
        { name: 'b', agents: ['x'], hours: 'calendar', nextResponse: '1h', handoff: '1s', resolution: '2d' },
      ],
    }
    expect(read(given)).toEqual({
      businessHours: {
        hours: [
          { weekday: 1, from: 540, to: 750 },
          { weekday: 1, from: 780, to: 1440 },
          { weekday: 7, from: 0, to: 1 },
        ],
        holidays: ['2026-12-25'],
      },
      serviceLevels: [
        {
          name: 'a',
          agents: null,
          channels: ['webchat'],
          isBusiness: true,
          targets: [{ metric: 'first_response', seconds: 300 }],
        },
        {
          ...{ name: 'b', agents: ['x'], channels: null, isBusiness: false },
          targets: [
            { metric: 'next_response', seconds: 3_600 },
            { metric: 'handoff', seconds: 1 },
            { metric: 'resolution', seconds: 172_800 },
          ],
        },
      ],
    })
  })

  it('count all time if there are no business hours', () => {
    expect(read({ sla: [{ name: 'a', handoff: '1m' }] }).serviceLevels[0]!.isBusiness).toBe(false)
  })

  const HOURS = 'must be hours such as 09:00-17:00, from 00:00 to 24:00; write a night as two days'
  it.each([
    [{ businessHours: { monday: '22:00-06:00' } }, HOURS],
    [{ businessHours: { monday: '09:00-24:01' } }, HOURS],
    [{ businessHours: { monday: 9 } }, HOURS],
    [{ businessHours: { monday: ['09:00-12:00', '11:59-13:00'] } }, 'must not overlap'],
    [
      { businessHours: { holidays: ['2026-12-25'] } },
      'must have the hours of at least one day; leave the setting out if you are always open',
    ],
    [{ businessHours: { monday: '09:00-17:00', holidays: ['2026-02-30'] } }, 'must be a day such as 2026-12-25'],
    [
      { sla: [{ name: 'a' }] },
      'must have a target: firstResponse, firstHumanResponse, nextResponse, handoff, resolution',
    ],
    [{ sla: [{ name: 'a', handoff: '1ms' }] }, 'must be 1s at least'],
    [
      {
        sla: [
          { name: 'a', handoff: '1m' },
          { name: 'a', handoff: '2m' },
        ],
      },
      'must have different names',
    ],
  ])('refuse %j', (given, message) => {
    expect(problem(given)).toBe(message)
  })
})
