// Transcripts of any shape: the text, sender and time of each message.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { messagesOf } from '../../src/catalog/events/turns.ts'
import { readExactly } from '../../src/json/exact-json.ts'

const AT = Date.UTC(2026, 10, 20, 9)

/** The contents of a turn, independent of its format. */
interface TurnContents {
  role: string
  texts: string[]
  atMs: number
  session: string
}

const turnContents = fc.record({
  role: fc.constantFrom('user', 'assistant', 'human_agent'),
  texts: fc.array(fc.string({ minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 3 }),
  atMs: fc.integer({ min: 0, max: 5 }).map(minute => AT + minute * 60_000),
  session: fc.constantFrom('s1', 's2'),
})

type Shape = (one: TurnContents) => unknown

/** Formats with one text per turn: each text gets a turn of its own. */
const oneText: Record<string, (turnContents: Omit<TurnContents, 'texts'> & { text: string }) => unknown> = {
  sandbox: ({ role, text, atMs, session }) => ({
    turnId: 't',
    sessionId: session,
    role,
    type: 'text',
    text,
    timestamp: atMs,
  }),
  content: ({ role, text, atMs, session }) => ({
    role,
    content: text,
    createdAt: new Date(atMs).toISOString(),
    session_id: session,
  }),
  text: ({ role, text, atMs, session }) => ({ role, text, ts: atMs / 1_000, sessionId: session }),
  message: ({ role, text, atMs, session }) => ({ role, message: text, time: String(atMs), sessionID: session }),
  'content in parts': ({ role, text, atMs, session }) => ({
    role,
    content: [{ type: 'text', text }],
    ts: atMs,
    session_id: session,
  }),
  parts: ({ role, text, atMs, session }) => ({
    role,
    parts: [{ type: 'reasoning', text: 'hm' }, { text }],
    ts: atMs,
    session_id: session,
  }),
  'message as an object': ({ role, text, atMs, session }) => ({
    from: role,
    message: { type: 'text', text: { body: text } },
    ts: atMs,
    session_id: session,
  }),
}

const vendors: Shape = ({ role, texts, atMs, session }) => ({
  from: role,
  messages: texts.map(message => ({ type: 'text', item: { type: 'text', payload: { message } } })),
  ts: Math.floor(atMs / 1_000),
  session_id: session,
})

const lines = (all: TurnContents[]) =>
  all
    .flatMap(({ role, texts, atMs, session }, turn) => texts.map(text => ({ role, text, atMs, session, turn })))
    .sort((a, b) => a.atMs - b.atMs || a.turn - b.turn)
    .map(({ role, text, session }) => ({ role, text, session }))

const read = (turns: unknown[]) =>
  messagesOf(turns).map(({ role, text, sessionId }) => ({ role, text, session: sessionId }))

describe('a transcript', () => {
  it("in the vendor's own format has a row for each message, by time, then in the order sent", () => {
    fc.assert(
      fc.property(fc.array(turnContents, { maxLength: 12 }), all => {
        expect(read(all.map(vendors))).toEqual(lines(all))
        const places = messagesOf(all.map(vendors)).map(({ turnPosition, messagePosition }) => [
          turnPosition,
          messagePosition,
        ])
        expect(new Set(places.map(String)).size).toBe(places.length)
      }),
      { seed: 14 },
    )
  })

  it.each(Object.keys(oneText))('with the text of its turns as %s is read', name => {
    fc.assert(
      fc.property(fc.array(turnContents, { maxLength: 12 }), all => {
        const turns = all.flatMap(({ texts, ...one }) => texts.map(text => oneText[name]!({ ...one, text })))
        expect(read(turns)).toEqual(lines(all))
      }),
      { seed: 14 },
    )
  })

  it('is in order even if some turns have no time or are plain texts', () => {
    const turns = [
      { role: 'assistant', text: 'a', ts: AT + 2_000 },
      'b',
      { role: 'user', text: 'c', ts: AT + 1_000 },
      { role: 'user', text: 'd' },
    ]
    expect(messagesOf(turns).map(({ text }) => text)).toEqual(['c', 'd', 'a', 'b'])
    expect(messagesOf(['x', 'y', { text: 'z' }]).map(({ text }) => text)).toEqual(['x', 'y', 'z'])
  })

  it('has a row for an empty turn, and joins the parts of one message', () => {
    const rows = messagesOf([null, 7, {}, { from: 'bot', messages: [], ts: AT }])
    expect(rows.map(({ turnPosition, role, text }) => [turnPosition, role, text])).toEqual([
      [1, null, null],
      [2, null, '7'],
      [3, null, null],
      [4, 'bot', null],
    ])
    const [one] = messagesOf([
      { role: 'user', content: [{ type: 'text', text: 'one' }, { type: 'image', url: 'u' }, 'two'] },
    ])
    expect(one!.text).toBe('one\ntwo')
  })

  it('of any shape is read without an error', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue({ maxDepth: 6 })), turns => {
        expect(messagesOf(turns).length).toBeGreaterThanOrEqual(turns.length)
      }),
      { seed: 14 },
    )
  })
})

type Leaf = [path: string[], value: unknown]

const leavesOf = (value: unknown, path: string[] = []): Leaf[] =>
  value !== null && typeof value === 'object'
    ? Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, [...path, key]))
    : [[path, value]]

const valueAt = (json: string | null, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (value, key) => (value !== null && typeof value === 'object' ? (value as Record<string, unknown>)[key] : undefined),
    json === null ? undefined : JSON.parse(json),
  )

const KEYS = [
  'text',
  'content',
  'parts',
  'item',
  'payload',
  'message',
  'id',
  'role',
  'from',
  'type',
  'session_id',
  'ts',
  'userId',
]

/** Times of which a TIMESTAMPTZ holds everything. */
const EXACT_TIMES: readonly unknown[] = [AT, '2026-11-20T09:00:00Z']

const { tree } = fc.letrec<{ tree: unknown }>(tie => ({
  tree: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom('a', 'b', 'tool', '', 7, 1.5, true, null, '2026-11-20T09:00:00+01:00', ...EXACT_TIMES),
    fc.array(tie('tree'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...KEYS), tie('tree'), { maxKeys: 5 }),
  ),
}))
const withMessages = fc
  .tuple(
    fc.dictionary(fc.constantFrom(...KEYS), tree, { maxKeys: 5 }),
    fc.oneof(tree, fc.array(tree, { maxLength: 3 })),
  )
  .map(([turn, messages]) => ({ ...turn, messages }))

describe('a message', () => {
  it('of any shape keeps each of its values in a column or, under its path, in `extra`', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(tree, withMessages), { maxLength: 4 }), turns => {
        const rows = messagesOf(turns)
        turns.forEach((turn, index) => {
          const own = rows.filter(({ turnPosition }) => turnPosition === index + 1)
          for (const [path, value] of leavesOf(turn)) {
            if (path.length === 0 && value === null) continue
            const isHeld = own.some(row => {
              // A number is a text in a VARCHAR, and a time with an offset is another text as a TIMESTAMPTZ.
              const texts = [row.turnId, row.sessionId, row.role, row.text].filter(text => typeof text === 'string')
              const columns: unknown[] = [...texts, ...EXACT_TIMES.filter(time => time === row.at)]
              const inList = path[0] === 'messages' && path[1] === String(row.messagePosition - 1)
              const inMessage = [path, path.slice(1), ...(inList ? [path.slice(2)] : [])]
              return (
                columns.includes(value) ||
                valueAt(row.turnExtra, path) === value ||
                inMessage.some(place => place.length + path.length > 0 && valueAt(row.extra, place) === value) ||
                (inList && path.length === 2 && value === null) ||
                (path.length === 0 && row.extra === JSON.stringify(value))
              )
            })
            if (!isHeld) expect({ turn, path, value, own }).toBe('held')
          }
        })
      }),
      { seed: 14, numRuns: 500 },
    )
  })
})

describe('a text', () => {
  it('keeps all digits of a long number', () => {
    const turns = readExactly(
      '[{"text":12345678901234567890},{"from":"a","messages":[{"item":{"payload":{"message":1.50}}}]}]',
    )
    expect(messagesOf(turns.value as unknown[]).map(({ text }) => text)).toEqual(['12345678901234567890', '1.50'])
  })

  it("is the turn's own if its messages have none, and is found in a single message object", () => {
    const turns = [
      { role: 'user', text: 'own', messages: [{ id: 'm1' }] },
      { from: 'user', messages: { type: 'text', item: { payload: { message: 'alone' } } } },
      { from: 'bot', messages: [{ type: 'choice' }, { type: 'text', item: { payload: { message: 'one of two' } } }] },
      { from: 'bot', messages: [{ type: 'choice' }, { type: 'image' }] },
    ]
    expect(messagesOf(turns).map(({ text }) => text)).toEqual(['own', 'alone', null, 'one of two', null, null])
  })
})
