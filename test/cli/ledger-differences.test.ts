import { describe, expect, it } from 'vitest'
import { describeDifference, type Settings } from '../../src/cli/ledger/differences.ts'
import { DAY } from '../../src/core/time.ts'
import { COUNT_NAMES, type Counts, differencesOf } from '../../src/reports/reconciliation.ts'

const A_DAY = '1d'
const NOW = Date.UTC(2026, 10, 20, 12)
const NONE = {
  coverage: { uncovered: [], unread: [], readThrough: null },
  rereads: { count: 0, sessions: 0, firstMs: NOW },
  gaps: [],
  unverified: [],
}

const none = Object.fromEntries(COUNT_NAMES.map(name => [name, 0])) as Counts

const hintOfStale = (settings: Settings | undefined): string => {
  const differences = differencesOf({ ...NONE, totals: { ...none, knownStale: 2 }, sessionsEach: 1.5 })
  expect(differences).toEqual([{ kind: 'stale', count: 2, sessions: 3 }])
  return describeDifference(differences[0]!, { ...NONE, settings }).hint
}

describe('rows that have changed since they were exported', () => {
  it('are exported again after the configured quiet time, all of them or those that events did not report in full', () => {
    const settings = { quietMs: DAY, rereadHorizonMs: 7 * DAY, rereadShare: 0.02 }
    expect(hintOfStale({ ...settings, refreshOn: 'change' })).toBe(
      `After ${A_DAY} without a change, \`convohouse sync\` exports them again, which bills about 3 sessions.`,
    )
    const hint = hintOfStale({ ...settings, refreshOn: 'message' })
    expect(hint).toContain(
      `After ${A_DAY} without a change, \`convohouse sync\` exports those with a new message again`,
    )
    expect(hint).toContain('with `refreshOn: change`, it exports all of them again')
    expect(hintOfStale({ ...settings, refreshOn: 'auto' })).toContain(
      'exports them again, except where an event reported the change without a new message and such refreshes have found nothing',
    )
    expect(hintOfStale(undefined)).toBe(
      'After some time without a change, `convohouse sync` exports them again, which bills about 3 sessions.',
    )
  })
})

it('rows that only events have reported wait for quiet, not for the quiet time of refreshes', () => {
  const [incomplete] = differencesOf({ ...NONE, totals: { ...none, incomplete: 1 }, sessionsEach: 2 })
  const settings = { quietMs: DAY, rereadHorizonMs: 7 * DAY, rereadShare: 0.02, refreshOn: 'auto' } as const
  const { hint } = describeDifference(incomplete!, { ...NONE, settings })
  expect(hint).toMatch(/^Once quiet for an hour, after six hours at most, `convohouse sync` exports the full records, /)
})

describe('conversations that the vendor skipped', () => {
  const settings = { quietMs: DAY, rereadHorizonMs: 7 * DAY, rereadShare: 0.02, refreshOn: 'change' } as const
  const hint = (rereads: Partial<(typeof NONE)['rereads']>, of: Settings | undefined = settings): string => {
    const known = { ...NONE, rereads: { ...NONE.rereads, ...rereads } }
    const [skipped] = differencesOf({ ...known, totals: { ...none, skipped: 700 }, sessionsEach: 1 })
    return describeDifference(skipped!, { ...known, settings: of }).hint
  }

  it('have a hint that says what is read again, from when on, and within which budget', () => {
    expect(hint({ count: 3, sessions: 412, firstMs: NOW + DAY })).toBe(
      'Syncs read 3 ranges of the last 7d (`rereadHorizon`) again, the first from 2026-11-21 12:00 UTC on. This bills up to 412 sessions each time, within 2 % of the quota a period (`rereadShare`); nothing older is read again.',
    )
  })

  it('have a hint that says that nothing is read again', () => {
    for (const text of [hint({}), hint({ count: 3 }, { ...settings, rereadShare: 0 })])
      expect(text).toMatch(/^Nothing is read again/)
    const [skipped] = differencesOf({ ...NONE, totals: { ...none, skipped: 1 }, sessionsEach: 1 })
    const unconfigured = describeDifference(skipped!, { ...NONE, settings: undefined }).hint
    expect(unconfigured).toContain('from this folder alone (a copy or a demo)')
  })
})
