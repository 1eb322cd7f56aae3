// Lines of a segment: written lines are read back, and a line truncated by a kill is distinguished from a damaged one.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventId } from '../../src/receiver/parse-event.ts'
import { linesOf, readLine, type SpoolEvent } from '../../src/spool/event-line.ts'
import { readLines } from '../../src/spool/read-segment.ts'
import { spoolEvent, spoolEvents } from './arbitrary-events.ts'

const lineOf = (event: SpoolEvent, batch: number): Buffer => linesOf([event], batch)

/** Returns a segment with one fsync per batch, and the offsets of its lines and of its last batch. */
function segmentOf(batches: readonly (readonly SpoolEvent[])[]): { bytes: Buffer; begins: number[]; lastSync: number } {
  const lines: Buffer[] = []
  const begins: number[] = []
  let length = 0
  let lastSync = 0
  for (const batch of batches) {
    lastSync = length
    for (const event of batch) {
      const line = lineOf(event, lastSync)
      begins.push(length)
      lines.push(line)
      length += line.length
    }
  }
  return { bytes: Buffer.concat(lines), begins, lastSync }
}

const batches = fc.array(fc.array(spoolEvents, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 })

describe('a line', () => {
  it('is one line of JSON, and is read back as written', () => {
    fc.assert(
      fc.property(spoolEvents, fc.nat(), (event, batch) => {
        const line = lineOf(event, batch)
        expect(line.indexOf('\n')).toBe(line.length - 1)
        const read = readLine(line.subarray(0, -1))!
        expect({ ...read, payload: Buffer.from(read.payload) }).toEqual({ ...event, batch })
        expect(JSON.parse(line.toString()).payload).toEqual(JSON.parse(Buffer.from(event.payload).toString()))
      }),
    )
  })

  it('is invalid if a single bit has flipped', () => {
    const line = lineOf(spoolEvent({ createdAt: 1, text: 'ä"}\\' }), 7).subarray(0, -1)
    for (let bit = 0; bit < line.length * 8; bit++) {
      const changed = Buffer.from(line)
      changed[bit >> 3]! ^= 1 << (bit & 7)
      expect([bit, readLine(changed)]).toEqual([bit, null])
    }
  })
})

describe('an id', () => {
  it('differs for another type, time or payload', () => {
    const payload = Buffer.from('{"a":1}')
    const inputs = [
      { type: 'a', createdAt: 1, payload },
      { type: 'b', createdAt: 1, payload },
      { type: 'a', createdAt: 2, payload },
      { type: 'a', createdAt: '1', payload },
      { type: 'a', createdAt: undefined, payload },
      { type: 'a', createdAt: 1, payload: Buffer.from('{"a":2}') },
    ]
    expect(new Set(inputs.map(eventId)).size).toBe(inputs.length)
  })
})

describe('a segment', () => {
  it('that was cut off anywhere has every complete line, and reports the rest as torn', () => {
    fc.assert(
      fc.property(batches, fc.double({ min: 0, max: 1, noNaN: true }), (given, share) => {
        const { bytes, begins } = segmentOf(given)
        const length = Math.floor(bytes.length * share)
        const { events, torn, damaged } = readLines(bytes.subarray(0, length))
        const complete = [...begins.slice(1), bytes.length].filter(end => end <= length).length
        expect([events.length, damaged]).toEqual([complete, []])
        const begun = begins[complete] ?? bytes.length
        expect(torn).toEqual(begun < length ? [{ at: begun, bytes: length - begun }] : [])
      }),
    )
  })

  it('distinguishes a line that was damaged before the last fsync from one that was never acknowledged', () => {
    fc.assert(
      fc.property(batches, fc.nat(), (given, choice) => {
        const { bytes, begins, lastSync } = segmentOf(given)
        const index = choice % begins.length
        const at = begins[index]!
        bytes[at + 20]! ^= 1
        const { events, torn, damaged } = readLines(bytes)
        expect(events.length).toBe(begins.length - 1)
        const isAloneInLast = at === lastSync && given.at(-1)!.length === 1
        if (at < lastSync && !isAloneInLast) expect([damaged.map(range => range.at), torn]).toEqual([[at], []])
        else expect([damaged, torn.map(range => range.at)]).toEqual([[], [at]])
      }),
    )
  })

  it('of zeros, as after a power failure, has no events', () => {
    expect(readLines(Buffer.alloc(100))).toEqual({ events: [], torn: [{ at: 0, bytes: 100 }], damaged: [] })
  })
})
