import { describe, expect, it } from 'vitest'
import { backoffMs } from '../../src/client/http/attempts.ts'

describe('the wait between attempts', () => {
  it('doubles from half a second up to twenty seconds', () => {
    const longest = [1, 2, 3, 4, 5, 6, 7, 50].map(attempt => backoffMs(attempt, 1))
    expect(longest).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 20_000, 20_000])
  })
})
