import fc from 'fast-check'
import { expect, it } from 'vitest'
import { forgottenAs } from '../../src/landing/tombstones.ts'
import { withoutForgotten } from '../../src/steps/forgetting/forgotten-pages.ts'
import { headOf } from '../landing/page-heads.ts'

const EMAIL = 'jane.forgotten@example.org'
const ID = 'id of jane'

/** Bytes that are no UTF-8, in place of this text. */
const INVALID = ['INVALID', '\xff\xc3\xe2\x82'] as const

/** Draws numbers below 1. */
const drawing = (seed: number) => () => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
  return seed / 2 ** 32
}

/** Returns a JSON text of a value, with blanks, escapes and repeated keys as they are drawn. */
function jsonOf(value: unknown, draw: () => number): string {
  const blank = () => ' \n\t\r'.slice(0, Math.floor(draw() * 6)).slice(-2)
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  if (typeof value === 'string') {
    const units = value.split('').map(unit => (draw() < 0.2 ? escaped(unit) : JSON.stringify(unit).slice(1, -1)))
    return `"${units.join('')}"`
  }
  const list = (parts: string[]) => parts.map(part => `${blank()}${part}${blank()}`).join(',')
  if (Array.isArray(value)) return `[${list(value.map(inner => jsonOf(inner, draw)))}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).flatMap(([key, inner]) => {
    const name = jsonOf(key, draw)
    const member = `${name}${blank()}:${blank()}${jsonOf(inner, draw)}`
    return draw() < 0.2 ? [`${name}:[{"}":"]"}]`, member] : [member]
  })
  return `{${list(members)}}`
}

const bytesOf = (text: string): Buffer =>
  Buffer.from(
    Buffer.from(text)
      .toString('latin1')
      .replaceAll(...INVALID),
    'latin1',
  )

const anything = fc.jsonValue({ depthSize: 'small' })
const fields = fc.dictionary(fc.string({ unit: 'binary', maxLength: 6 }), anything, { maxKeys: 4 })

/** A record of somebody else, also such as the vendor must not send. */
const other = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fields, fc.string()).map(([more, ID]) => ({ ...more, ID, note: 'INVALID, [{"' })) },
  anything,
)

const forgottenRecord = fc
  .tuple(fields, fc.constantFrom({ ID }, { userEmail: `Jane <${EMAIL.toUpperCase()}>` }, { lightConvoData: { ID } }))
  .map(([more, own]) => ({ ...more, ...own, note: EMAIL }))

const forgotten = forgottenAs({
  identifiers: [`email:${EMAIL}`],
  conversations: [{ workspaceId: 'ws', agentId: 'agent-1', id: ID }],
  countries: [],
})

it('a page without forgotten people has the bytes of all others, however its JSON is written', () => {
  const records = fc.array(
    fc.oneof(
      other.map(value => ({ value, isDropped: false })),
      forgottenRecord.map(value => ({ value, isDropped: true })),
    ),
    { maxLength: 6 },
  )
  const seen = { dropped: 0, kept: 0 }
  fc.assert(
    fc.property(records, fields, fc.nat(), fc.boolean(), (drawn, more, seed, hasMark) => {
      const draw = drawing(seed)
      const elements = drawn.map(({ value, isDropped }) => ({ bytes: bytesOf(jsonOf(value, draw)), isDropped }))
      const around = jsonOf({ ...more, data: [], hasMore: false }, draw)
      const begin = bytesOf(`${hasMark ? '\ufeff' : ''}${around.slice(0, -1)},${jsonOf('data', draw)} : [ `)
      const end = bytesOf(` ]${draw() < 0.5 ? '' : ', "cursor": "]}"'} }`)
      const page = (kept: typeof elements) =>
        Buffer.concat([
          begin,
          ...kept.flatMap(({ bytes }, at) => (at === 0 ? [bytes] : [Buffer.from(','), bytes])),
          end,
        ])
      const found = withoutForgotten(forgotten, { head: headOf(), body: page(elements) })
      const kept = elements.filter(({ isDropped }) => !isDropped)
      seen.kept += kept.length
      if (kept.length === elements.length) {
        expect(found).toBe(null)
        return
      }
      seen.dropped += elements.length - kept.length
      expect(found!.head.forgotten).toBe(elements.length - kept.length)
      expect(found!.body.equals(page(kept))).toBe(true)
      expect(found!.body.toString('latin1').toLowerCase()).not.toContain(EMAIL)
      expect(withoutForgotten(forgotten, found!)).toBe(null)
    }),
    { numRuns: 300 },
  )
  expect(Math.min(seen.dropped, seen.kept)).toBeGreaterThan(100)
})
