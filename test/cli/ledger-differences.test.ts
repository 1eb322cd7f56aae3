import { describe, expect, it } from 'vitest'
import { describeDifference, type Settings } from '../../src/cli/ledger/differences.ts'
import { ledgerLines, ledgerOf } from '../../src/cli/ledger/ledger.ts'
import { DAY } from '../../src/core/time.ts'
import { COUNT_NAMES, type Counts } from '../../src/reports/reconciled-counts.ts'
import { differencesOf } from '../../src/reports/reconciliation.ts'

const A_DAY = '1d'

const none = Object.fromEntries(COUNT_NAMES.map(name => [name, 0])) as Counts

const hintOfStale = (settings: Settings | undefined): string => {
  const coverage = { uncovered: [], unread: [], readThrough: null }
  const differences = differencesOf({
    totals: { ...none, knownStale: 2 },
    price: { perConversation: 1.5, hiddenBehind: 0 },
    coverage,
  })
  expect(differences).toEqual([{ kind: 'stale', count: 2, sessions: 3 }])
  return describeDifference(differences[0]!, { coverage, settings }).hint
}

describe('rows that have changed since they were exported', () => {
  it('are exported again after the configured quiet time, all of them or those that events did not report in full', () => {
    const settings = { quietMs: DAY, rereadHorizonMs: 7 * DAY, rereadShare: 0.02 }
    expect(hintOfStale({ ...settings, refreshOn: 'change' })).toBe(
      `After ${A_DAY} without a change, \`convohouse sync\` exports them again.`,
    )
    const hint = hintOfStale({ ...settings, refreshOn: 'message' })
    expect(hint).toContain(
      `After ${A_DAY} without a change, \`convohouse sync\` exports those with a new message again`,
    )
    expect(hint).toContain('with `refreshOn: change`, it exports all of them again')
    expect(hintOfStale(undefined)).toBe('After some time without a change, `convohouse sync` exports them again.')
  })
})

describe('an agent that is not read at all', () => {
  it('is named without control characters', () => {
    const coverage = { uncovered: [], unread: ['a\u001b]0;owned\u0007'], readThrough: null }
    const differences = differencesOf({ totals: none, price: { perConversation: 1, hiddenBehind: 0 }, coverage })
    const reconciliation = { workspaceId: 'ws', by: 'agent', rows: [], totals: none, differences, coverage } as const
    const text = ledgerLines(ledgerOf({ ...reconciliation, rows: [] }, undefined)).join(' ')
    expect(text).toContain('a\\u001b]0;owned\\u0007')
    expect(text).not.toMatch(/\p{Cc}/u)
  })
})
