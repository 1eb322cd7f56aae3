// Which parts of a body are stored, and which are never stored.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { makeAuthenticator } from '../../src/receiver/authenticate.ts'
import { parseEvent } from '../../src/receiver/parse-event.ts'
import { rounds } from '../tier.ts'

const SECRET = 'whsec-canary-"8a1f/Ω"'
const NEXT = 'whsec-canary-next-77b0'
const OTHER = 'whsec-canary-other-31c9'
const authenticate = makeAuthenticator([
  { id: 'ws', secrets: [SECRET, NEXT] },
  { id: 'other', secrets: [OTHER] },
])

const ofText = (text: string | Buffer, addressed: string | null = null) =>
  parseEvent(Buffer.from(text), addressed, authenticate)
const of = (payload: object, addressed: string | null = null) =>
  ofText(JSON.stringify({ workspaceSecret: SECRET, ...payload }), addressed)

/** Returns the stored parts: workspace, type and payload. */
function kept(checked: ReturnType<typeof parseEvent>) {
  if ('refused' in checked) throw new Error(checked.refused)
  const { workspaceId, type, payload, id } = checked.event
  return {
    workspaceId,
    type,
    id,
    payload: JSON.parse(Buffer.from(payload).toString()),
    text: Buffer.from(payload).toString(),
  }
}

const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
const within = (value: string) => `{"workspaceSecret":${JSON.stringify(SECRET)},"turns":${value}}`

describe('a secret', () => {
  it('is valid only for its own workspace', () => {
    expect(kept(of({ workspaceSecret: OTHER }, 'other')).workspaceId).toBe('other')
    expect(of({}, 'other')).toEqual({ refused: 'wrong-secret' })
  })

  it('is not read from a prototype', () => {
    expect(ofText(`{"__proto__":{"workspaceSecret":${JSON.stringify(SECRET)}}}`)).toEqual({ refused: 'wrong-secret' })
  })

  it('is stored nowhere, no matter where the sender has put it', () => {
    const places = [
      of({ turns: [{ text: `my secret is ${SECRET}!` }] }),
      of({ lightConvoData: { workspaceSecret: SECRET, deeper: { workspaceSecret: NEXT } } }),
      of({ [`x${SECRET}`]: 1, link: `https://example.com/?s=${encodeURIComponent(SECRET)}` }),
      of({ inner: JSON.stringify({ workspaceSecret: SECRET }), big: 1, text: NEXT }),
      ofText(
        `{"workspaceSecret":"x","workspaceSecret":${JSON.stringify(SECRET)},"n":12345678901234567890,"t":${JSON.stringify(SECRET)}}`,
      ),
    ].map(kept)
    for (const { text } of places) {
      for (const secret of [SECRET, NEXT])
        for (const form of [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])
          expect(text).not.toContain(form)
      expect(text).not.toContain('canary')
    }
  })

  it('is stored in no encoding: not escaped in JSON inside a text, not in lower-case hexadecimal, not in base64', () => {
    for (const own of ['whsec-canary/8a1f+Ω=?>~', 'whsec-canary/8a1f+=?>~']) {
      const authenticateOwn = makeAuthenticator([{ id: 'ws', secrets: [own] }])
      const encoded = ['', 'u', 'us', 'user:'].flatMap(before =>
        (['base64', 'base64url'] as const).map(way => Buffer.from(`${before}${own}\n`).toString(way)),
      )
      const escaped = `{"workspaceSecret":"${own.replaceAll('/', '\\/')}"}`
      const lower = encodeURIComponent(own).replace(/%../g, byte => byte.toLowerCase())
      for (const form of [escaped, lower, ...encoded]) {
        const body = Buffer.from(JSON.stringify({ workspaceSecret: own, messageContent: `it is ${form}!` }))
        const { text, payload } = kept(parseEvent(body, null, authenticateOwn))
        expect(text).not.toContain(form)
        expect(payload.messageContent).toMatch(/^it is .*\*\*\*.*!$/s)
        expect(text.replaceAll('\\', '')).not.toContain(own)
      }
    }
  })

  const member = `"workspaceSecret":${JSON.stringify(SECRET)}`
  it.each([
    ['under the name of a secret', '"a":[{"apiKey":"canary"}]'],
    ['under such a name with a blank beyond ASCII', '"api\u00a0key":"canary"'],
    ['under such a name with an escape', '"api\\u004bey":"canary"'],
    ['behind a key that occurs twice', '"a":{"password":"canary"},"a":{}'],
    ['beside a name', '"a":[{"key":"api\u00a0key","value":"canary"}]'],
    ['beside a name with an escape', '"a":[{"value":"canary","name":"author\\u0069zation"}]'],
    ['behind customer data', '"turns":[{"token":1}],"a":{"token":"canary"}'],
    ['in a name', '"sk-canary-0123456789":1'],
    ['in JSON', '"a":"\\n {\\"apiKey\\":\\"canary\\"}"'],
    ['in customer data, if it is the own secret', `"formData":{"a":"it is ${NEXT}","workspaceSecret":"canary"}`],
    ['beside a number that a double cannot hold', '"n":12345678901234567890,"apiKey":"canary"'],
  ])('is not stored %s', (_where, members) => {
    for (const body of [`{${member},${members}}`, `{${members},${member}}`, ` {\n${members} , ${member}\r\n}`])
      expect(kept(ofText(body)).text).not.toMatch(/canary|workspaceSecret"/)
  })

  const escaped = [...'workspaceSecret'].map(each => `\\u00${each.charCodeAt(0).toString(16).toUpperCase()}`).join('')
  const others = (count: number, text: string) => Array.from({ length: count }, () => text).join(',')
  it.each([
    ['alone', `{"workspaceSecret":"${NEXT}"}`],
    ['after blanks', `{"a":1,"workspaceSecret"\n:\t"${NEXT}"}`],
    ['after a byte order mark', `\uFEFF{"workspaceSecret":"${NEXT}"}`],
    ['with escapes in its name', `{"a":1,"${escaped}":"${NEXT}"}`],
    ['with escapes in its value', `{"workspaceSecret":"whsec-canary-next-77b\\u0030"}`],
    ['after its name in a text', `{"text":"\\"workspaceSecret\\":\\"x\\"","workspaceSecret":"${NEXT}"}`],
    ['after a hundred others inside', `{"a":[${others(200, '{"workspaceSecret":"x"}')}],"workspaceSecret":"${NEXT}"}`],
    ['after a hundred others beside it', `{${others(200, '"workspaceSecret":"x"')},"workspaceSecret":"${NEXT}"}`],
    ['after others of other types', `{"workspaceSecret":null,"workspaceSecret":["x"],"workspaceSecret":"${NEXT}"}`],
    ['after 1 MB', `{"a":[${others(62_500, '{"b":"cd\\\\"}')}],"workspaceSecret":"${NEXT}"}`],
    ['before 1 MB', `{"workspaceSecret":"${NEXT}","a":"${'x\\"'.repeat(340_000)}"}`],
  ])('is found %s', (_where, body) => expect(kept(ofText(body)).workspaceId).toBe('ws'))

  it.each([
    ['inside another member', `{"a":{${member}}}`],
    ['before another secret', `{${member},"workspaceSecret":"x"}`],
    ['before another type', `{${member},"workspaceSecret":null}`],
    ['under another name', `{"workspacesecret":"${NEXT}"}`],
    ['in a list', `["workspaceSecret","${NEXT}"]`],
  ])('is not accepted %s', (_where, body) => expect(ofText(body)).toEqual({ refused: 'wrong-secret' }))

  it('of another kind is dropped, and counted by path', () => {
    const fields = [
      { key: 'Authorization', value: 'b' },
      { key: 'Cookie', value: 'c' },
    ]
    const checked = of({ agent: { apiKey: 'k', maxTokens: 7 }, fields })
    expect(kept(checked).payload).toEqual({
      agent: { maxTokens: 7 },
      fields: [{ key: 'Authorization' }, { key: 'Cookie' }],
    })
    expect(checked).toMatchObject({ event: { removed: { 'agent.apiKey': 1, 'fields[].value': 2 } } })
  })

  it('is not suspected in customer data, regardless of its name or value, unless it is that of the workspace', () => {
    const customers = {
      lightConvoData: {
        capturedVariables: { discount_token: 'SAVE20', secret_santa: 'Eve' },
        metrics: [{ key: 'password_reset_asked', value: 'yes' }],
        apiKey: 'the record is theirs as a whole',
        isEnv: true,
        value: 7,
      },
      formData: { 'Password reset needed?': 'sk-or-not-12345678', auth: 'by phone', headers: { key: 'k' } },
      turns: [
        { toolCalls: [{ args: { token: 'T-1', url: 'https://me:pw@example.com/?token=1' } }], text: 'Bearer abc12345' },
      ],
      messagesHistory: [{ role: 'user', content: '-----BEGIN PRIVATE KEY-----' }],
      messageContent: 'my key is sk-live-0123456789abcdef',
      bugDescription: '{"password":"x"}',
      leadName: 'eyJhbGciOi.eyJzdWIi.x',
    }
    for (const doubt of [{}, { big: 1e21 }, { agent: { secret: 's' } }])
      expect(kept(of({ ...doubt, ...customers })).payload).toMatchObject(customers)
    const own = kept(of({ ...customers, turns: [{ text: `it is ${NEXT}`, workspaceSecret: 'x', [NEXT]: 1 }] }))
    expect(own.payload.turns).toEqual([{ text: 'it is ***', '***': 1 }])
    expect({ ...own.payload, turns: customers.turns }).toEqual(customers)
  })
})

describe('an event', () => {
  it('has its type, and the same id in any order of its keys', () => {
    const payload = { event: 'lead_captured', createdAt: 5, leadName: 'A', b: { y: 1, x: [2] } }
    const one = kept(of(payload))
    expect(one).toMatchObject({ type: 'lead_captured', payload })
    expect(one.id).toMatch(/^[0-9a-f]{64}$/)
    const reversed = JSON.stringify({
      b: { x: [2], y: 1 },
      leadName: 'A',
      createdAt: 5,
      event: 'lead_captured',
      workspaceSecret: NEXT,
    })
    expect(kept(ofText(reversed)).id).toBe(one.id)
    expect(kept(of({ ...payload, createdAt: 6 })).id).not.toBe(one.id)
  })

  it('of an unknown type is kept as unknown', () => {
    expect(kept(of({ event: 'agent_sneezed', x: 1 }))).toMatchObject({
      type: 'unknown',
      payload: { event: 'agent_sneezed', x: 1 },
    })
  })

  it.each([
    ['wrong types', '{"event":7,"createdAt":"never","turns":"none","agentId":[[]]}'],
    [
      'keys of prototypes',
      '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"event":"webhook_test"}',
    ],
    ['a key twice', '{"event":"webhook_test","message":"a","message":"b"}'],
    ['a NUL', '{"event":"webhook_test","message":"a\\u0000b"}'],
    ['half of a surrogate pair', '{"event":"webhook_test","message":"\\ud83d","\\udc00":1}'],
    ['deep nesting', `{"turns":${nested(400)}}`],
  ])('with %s is kept, and pollutes no prototype', (_what, text) => {
    const { text: payload } = kept(ofText(`{"workspaceSecret":${JSON.stringify(NEXT)},${text.slice(1)}`))
    expect(payload.isWellFormed()).toBe(true)
    expect(payload).not.toMatch(/[^\\]\\ud[89a-f]/)
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })

  it('keeps the digits of numbers that a double cannot hold', () => {
    const { text } = kept(
      ofText(`{"z":12345678901234567890,"a":1e400,"workspaceSecret":"${NEXT}","apiKey":"k","m":[1.5]}`),
    )
    expect(text).toBe('{"a":1e400,"m":[1.5],"z":12345678901234567890}')
  })

  it('is the same after a byte order mark', () => {
    const body = JSON.stringify({ workspaceSecret: SECRET, event: 'webhook_test', createdAt: 1 })
    expect(kept(ofText(`\uFEFF${body}`))).toEqual(kept(ofText(body)))
    expect(ofText(`\uFEFF\uFEFF${body}`)).toEqual({ refused: 'not-json' })
  })

  it('keeps the readable part of bytes that are not UTF-8', () => {
    const bytes = Buffer.concat([
      Buffer.from(`{"workspaceSecret":"${NEXT}","text":"a`),
      Buffer.from([0xff, 0xc3]),
      Buffer.from('b"}'),
    ])
    expect(kept(ofText(bytes)).payload.text).toMatch(/^a\ufffd+b$/)
  })

  it('is refused if it is not JSON', () => {
    for (const text of [
      '',
      'x',
      '{',
      '{"a":1}}',
      `{"workspaceSecret":"${NEXT}\0"}`,
      '\0\0\0',
      '[1,]',
      '['.repeat(100_000),
    ])
      expect(ofText(text)).toEqual({ refused: 'not-json' })
    for (const text of ['null', '1', '"x"', '[]', `["${NEXT}"]`])
      expect(ofText(text)).toEqual({ refused: 'wrong-secret' })
  })

  it('is refused if it is nested too deeply, whether or not the parser accepts it', () => {
    for (const levels of [600, 100_000]) expect(ofText(within(nested(levels)))).toEqual({ refused: 'too-deep' })
    // Brackets inside a string do not count as nesting.
    expect(kept(ofText(within(JSON.stringify(`\\"${'['.repeat(100_000)}`)))).payload.turns).toHaveLength(100_002)
  })
})

it('an event is the same in every notation, and contains no secret', () => {
  const secret = 'whsec-canary-8a1f/+='
  const one = makeAuthenticator([{ id: 'ws', secrets: [secret] }])
  const forms = [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64')]
  const texts = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...forms))
  const names = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('turns', 'workspaceSecret', 'apiKey'))
  const values = fc.letrec(tie => ({
    value: fc.oneof(
      { depthSize: 'small' },
      texts,
      fc.constantFrom(0, -0, 1.5, 1e300, true, null),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(names, tie('value'), { maxKeys: 4 }),
    ),
  })).value
  fc.assert(
    fc.property(
      fc.dictionary(names, values, { maxKeys: 5 }),
      fc.constantFrom('', ' ', '\n', '\t'),
      (payload, blank) => {
        const members = Object.entries({ ...payload, workspaceSecret: secret })
        const parse = (entries: [string, unknown][]) =>
          parseEvent(Buffer.from(JSON.stringify(Object.fromEntries(entries), null, blank)), null, one)
        const parsed = kept(parse(members))
        expect(kept(parse(members.reverse()))).toEqual(parsed)
        for (const form of forms) expect(parsed.text).not.toContain(form)
        expect(parsed.text).not.toContain('workspaceSecret":')
      },
    ),
    { numRuns: rounds('FAULT_RUNS', { usual: 25, deep: 50000 }) },
  )
})
