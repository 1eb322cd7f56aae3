import { describe, expect, it } from 'vitest'
import { nothingToRead } from '../../src/cli/sync/progress-text.ts'
import { economyTexts } from '../../src/cli/terminal/notes.ts'

const measured = { measured: 412, changed: 3, skips: true, savedSessions: 880 }

describe('what plan and status say about saved exports', () => {
  it('is what refreshes without a new message found, and what skipping them saves, or when they will be skipped', () => {
    expect(economyTexts({ measured })).toEqual([
      'refreshes without a new message changed 3 of 412 conversations; skipping them saves about 880 sessions a month',
    ])
    expect(economyTexts({ measured: { ...measured, measured: 1, changed: 1, skips: false } })).toEqual([
      'refreshes without a new message changed 1 of 1 conversation; they are skipped once at most one of the last 50 finds a change',
    ])
    expect(economyTexts({ measured: null, active: 0 })).toEqual([])
  })

  it('is how many new conversations wait, and then nothing claims that everything is stored', () => {
    expect(economyTexts({ active: 2 })).toEqual(['2 new conversations wait until quiet for an hour, six hours at most'])
    expect(nothingToRead({ active: 2 })).toBe('nothing to read now')
    expect(nothingToRead({})).toBe('nothing to read: everything up to now is stored')
  })
})
