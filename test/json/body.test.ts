import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseBody, parseShape } from '../../src/json/body.ts'
import { json, PAGE } from '../client/scripted-server.ts'
import { clientFor } from '../client/vendor-fixture.ts'

/** The text with each of its bytes read as one character. */
const byteWise = (text: string): string => Buffer.from(text).toString('latin1')

function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value)
  if (Array.isArray(value)) return value.map(element => mapTexts(element, map))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [map(key), mapTexts(inner, map)]))
}

const text = fc.string({ unit: 'grapheme' })
const documents = fc.jsonValue({ stringUnit: 'grapheme' }).filter(value => !JSON.stringify(value).includes('__proto__'))

describe('a body that is parsed for its shape', () => {
  it('differs from the body itself only in texts beyond ASCII, and reports whether it does', () => {
    fc.assert(
      fc.property(documents, drawn => {
        // Serialized once, because JSON.stringify writes -0 as 0.
        const value = JSON.parse(JSON.stringify(drawn))
        const body = Buffer.from(JSON.stringify(value))
        const read = parseShape(body)!
        expect(read.value).toEqual(mapTexts(value, byteWise))
        expect(read.exact).toBe(!/[^\0-\x7f]/.test(JSON.stringify(value)))
        expect(read.invalidUtf8).toBe(false)
      }),
      { numRuns: 500 },
    )
  })

  it('is JSON exactly if the body is, after any prefix', () => {
    fc.assert(
      fc.property(text, fc.constantFrom('', '\ufeff', '\u00a0', ' '), (body, before) => {
        const bytes = Buffer.from(before + body)
        expect(parseShape(bytes) === undefined).toBe(parseBody(bytes) === undefined)
      }),
    )
  })
})

describe('a page of an export', () => {
  it('has its cursor and its period key as sent, also beyond ASCII', async () => {
    const page = { ...PAGE, nextCursor: 'nächste/😀=', usage: { periodKey: '2026–11' } }
    const { client } = await clientFor([json(page)])
    const { envelope, records } = await client.exportConversations({ agentId: 'a1', query: {} })
    expect(envelope).toMatchObject({ nextCursor: page.nextCursor, usage: { periodKey: '2026–11' } })
    expect(records()).toEqual(PAGE.data)
  })
})
