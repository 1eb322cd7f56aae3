// How long the quota lasts, from the days on which it was reported.
import { describe, expect, it } from 'vitest'
import { projectionOf } from '../../../src/serve/web/state/quota-projection.ts'

const quotaOf = (...days: [day: string, used: number, history?: number][]) => ({
  ...{ workspace: 'w', period: 'p', includedSessions: 1_000, overageSessions: 0, overagePacks: 0, ends: '2026-10-31' },
  days: days.map(([day, usedSessions, historySessions = 0]) => ({ day, usedSessions, historySessions })),
})

describe('a projection of the quota', () => {
  it('needs reports of two days', () => {
    expect(projectionOf(quotaOf())).toBeNull()
    expect(projectionOf(quotaOf(['2026-10-01', 10]))).toBeNull()
  })

  it('follows the last seven days, without history that was read in them', () => {
    const quota = quotaOf(['2026-10-01', 10], ['2026-10-03', 500], ['2026-10-08', 720, 120], ['2026-10-10', 760])
    expect(projectionOf(quota)).toEqual({
      ...{ from: '2026-10-03', to: '2026-10-10', perDay: 20, atEnd: 1_180, usedUpOn: '2026-10-22' },
    })
  })

  it('takes an older report if there is none in seven days, and lasts if nothing is used', () => {
    const quota = quotaOf(['2026-10-01', 100], ['2026-10-11', 200])
    expect(projectionOf(quota)).toMatchObject({ from: '2026-10-01', perDay: 10, atEnd: 400, usedUpOn: null })
    expect(projectionOf(quotaOf(['2026-10-01', 100], ['2026-10-11', 100]))).toMatchObject({ perDay: 0, atEnd: 100 })
  })
})
