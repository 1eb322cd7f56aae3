// However clients send, request bodies stay within their memory limit, and a small new body always fits.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { BodyMemory, type HeldBody, SMALL_BYTES } from '../../src/receiver/http/body-memory.ts'

const LIMITS = { maxBytes: 1024 * 1024, maxBytesAtOnce: 16 * 1024 * 1024 }
const PIECE = 64 * 1024

interface Sender extends HeldBody {
  dropped: string | null
}

function memoryUnderTest() {
  let nowMs = 0
  const memory = new BodyMemory(LIMITS, () => nowMs)
  const begin = (address: string, options: { isAuthentic?: boolean } = {}): Sender => {
    const sender: Sender = {
      address,
      connection: {},
      beganMs: nowMs,
      isComplete: false,
      dropped: null,
      isAuthentic: () => options.isAuthentic === true,
      drop(reason) {
        sender.dropped = reason
        memory.release(sender)
      },
    }
    return sender
  }
  const wait = (ms: number) => {
    nowMs += ms
  }
  return { memory, begin, wait }
}

const steps = fc.array(
  fc.record({
    address: fc.integer({ min: 0, max: 3 }),
    pieces: fc.integer({ min: 1, max: 16 }),
    waitMs: fc.integer({ min: 0, max: 100 }),
    ends: fc.constantFrom('complete', 'authentic', 'open', 'released'),
  }),
  { minLength: 20, maxLength: 150 },
)

it('the memory is bounded, drops no complete or authentic body, and has space for a small new one', () => {
  fc.assert(
    fc.property(steps, given => {
      const { memory, begin, wait } = memoryUnderTest()
      const kept: Sender[] = []
      let keptBytes = 0
      for (const { address, pieces, waitMs, ends } of given) {
        const sender = begin(`a${address}`, { isAuthentic: ends === 'authentic' })
        for (let left = pieces; left > 0 && sender.dropped === null; left--) memory.hold(sender, PIECE)
        wait(waitMs)
        if (ends === 'released') memory.release(sender)
        if (sender.dropped === null && (ends === 'complete' || ends === 'authentic')) {
          sender.isComplete = ends === 'complete'
          kept.push(sender)
          keptBytes += pieces * (PIECE + 256)
        }
        expect(memory.held).toBeLessThanOrEqual(LIMITS.maxBytesAtOnce)
      }
      expect(kept.filter(({ dropped }) => dropped !== null)).toEqual([])
      wait(1)
      const real = begin('a0')
      const isHeld = memory.hold(real, SMALL_BYTES - 256)
      expect(isHeld || keptBytes > LIMITS.maxBytesAtOnce - SMALL_BYTES).toBe(true)
    }),
  )
})

it('large bodies leave a quarter of the memory to small ones, and those of one address leave space for others', () => {
  const { memory, begin } = memoryUnderTest()
  const take = (address: string, many: number) => {
    for (let left = many; left > 0; left--) {
      const sender = begin(address, { isAuthentic: true })
      for (let piece = 0; piece < 15 && sender.dropped === null; piece++) memory.hold(sender, PIECE)
    }
    return memory.held / LIMITS.maxBytesAtOnce
  }
  expect(take('one', 40)).toBeLessThan(0.45)
  expect(take('two', 40)).toBeGreaterThan(0.6)
  expect(take('three', 40)).toBeLessThan(0.9)
  expect(memory.hold(begin('one'), SMALL_BYTES - 256)).toBe(true)
})

it('a body that arrives byte by byte counts with its overhead, and is dropped', () => {
  const { memory, begin } = memoryUnderTest()
  const sender = begin('one')
  while (memory.hold(sender, 1));
  expect([sender.dropped, memory.held]).toEqual(['too-slow', 0])
})
