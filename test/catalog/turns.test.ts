// Transcripts of any shape: the text, sender and time of each message.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { messagesOf } from '../../src/catalog/events/turns.ts'
import { readExactly } from '../../src/json/exact-json.ts'

const AT = Date.UTC(2026, 10, 20, 9)

describe('a transcript', () => {
  it.each<[string, (text: string, ts: number) => object]>([
    ['text', (text, ts) => ({ sessionId: 's', role: 'user', type: 'text', text, timestamp: ts })],
    ['content', (content, ts) => ({ session_id: 's', role: 'user', content, createdAt: new Date(ts).toISOString() })],
    ['message', (message, ts) => ({ sessionID: 's', role: 'user', message, time: String(ts) })],
    ['content in parts', (text, ts) => ({ session_id: 's', role: 'user', content: [{ type: 'text', text }], ts })],
    [
      'parts',
      (text, ts) => ({ session_id: 's', role: 'user', parts: [{ type: 'reasoning', text: 'hm' }, { text }], ts }),
    ],
    [
      'a message object',
      (body, ts) => ({ session_id: 's', from: 'user', message: { text: { body } }, ts: ts / 1_000 }),
    ],
    [
      "the vendor's messages",
      (message, ts) => ({ session_id: 's', from: 'user', messages: [{ item: { payload: { message } } }], ts }),
    ],
  ])('with the text of its turns as %s is read, by time', (_, turn) => {
    const rows = messagesOf([turn('later', AT + 60_000), turn('first', AT)])
    expect(rows.map(({ role, text, sessionId }) => [role, text, sessionId])).toEqual([
      ['user', 'first', 's'],
      ['user', 'later', 's'],
    ])
  })
})

it('a reply with a time in whole seconds stays after the message that it answers', () => {
  const turns = [
    { role: 'user', text: 'question', ts: AT + 900 },
    { role: 'assistant', text: 'answer', ts: AT },
    { role: 'user', text: 'earlier', ts: AT - 1_000 },
  ]
  expect(messagesOf(turns).map(({ text }) => text)).toEqual(['earlier', 'question', 'answer'])
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

/** Times that a TIMESTAMPTZ represents without loss. */
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
              // A number becomes text in a VARCHAR, and a time with an offset changes its text in a TIMESTAMPTZ.
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
      { seed: 14, numRuns: 200 },
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
