import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { conversationId, indexOfConversation } from '../../src/sandbox/world/identity.ts'

describe('a conversation id', () => {
  it('can be converted back to its index', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 0, max: 2 ** 32 - 1 }), (seed, index) => {
        expect(indexOfConversation(seed, conversationId(seed, index))).toBe(index)
      }),
    )
  })

  it('is different for every conversation, and a UUID in most cases', () => {
    const ids = Array.from({ length: 20_000 }, (_, index) => conversationId(1, index))
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.filter(id => id.length === 36).length).toBeGreaterThan(18_000)
  })

  it('is not accepted if any other part of it is changed', () => {
    const id = conversationId(1, 5)
    const last = id.at(-1) === '0' ? '1' : '0'
    expect(indexOfConversation(1, id.slice(0, -1) + last)).toBeUndefined()
    expect(indexOfConversation(1, 'no-such-conversation')).toBeUndefined()
  })
})
