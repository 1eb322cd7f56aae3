import { describe, expect, it } from 'vitest'
import { COUNT_NAMES, type Counts } from '../../../src/cli/ledger/counts.ts'
import { differencesOf, type Settings } from '../../../src/cli/ledger/differences.ts'
import { ledgerLines } from '../../../src/cli/ledger/ledger-text.ts'
import { DAY } from '../../../src/core/time.ts'

const A_DAY = '1d'

const none = Object.fromEntries(COUNT_NAMES.map(name => [name, 0])) as Counts

const mendOfStale = (settings: Settings | undefined): string => {
  const differences = differencesOf({
    totals: { ...none, knownStale: 2 },
    price: { perConversation: 1.5, hiddenBehind: 0 },
    reading: { uncovered: [], unread: [], readThrough: null },
    settings,
  })
  expect(differences).toMatchObject([{ kind: 'stale', count: 2, sessions: 3 }])
  return differences[0]!.hint
}

describe('rows that have changed since they were exported', () => {
  it('are bought again after the configured quiet, all of them or those that events did not tell in full', () => {
    const settings = { quietMs: DAY, rereadHorizonMs: 7 * DAY, rereadShare: 0.02 }
    expect(mendOfStale({ ...settings, refreshOn: 'change' })).toBe(
      `\`convohouse sync\` buys them again after ${A_DAY} of quiet.`,
    )
    const hint = mendOfStale({ ...settings, refreshOn: 'message' })
    expect(hint).toContain(`after ${A_DAY} of quiet where something was written since`)
    expect(hint).toContain('`refreshOn: change` has it buy all')
    expect(mendOfStale(undefined)).toBe('`convohouse sync` buys them again after a time of quiet.')
  })
})

describe('an agent that is not read at all', () => {
  it('is named in characters that a terminal shows and does not obey', () => {
    const reading = { uncovered: [], unread: ['a\u001b]0;owned\u0007'], readThrough: null }
    const found = { totals: none, price: { perConversation: 1, hiddenBehind: 0 }, reading, settings: undefined }
    const differences = differencesOf(found)
    const ledger = { workspaceId: 'ws', by: 'agent', readThrough: null, rows: [], totals: none, differences } as const
    const text = ledgerLines({ ...ledger, rows: [], uncovered: [] }).join(' ')
    expect(text).toContain('a\\u001b]0;owned\\u0007')
    expect(text).not.toMatch(/\p{Cc}/u)
  })
})
