// Which bodies the receiver appends as sent. Such bodies contain no part of a secret, and are the same events as re-encoded bodies.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { makeAuthenticator } from '../../src/receiver/authenticate.ts'
import { parseAsSent } from '../../src/receiver/intake.ts'
import { type ParsedEvent, parseEvent } from '../../src/receiver/parse/parse-event.ts'
import { type IdentifiedEvent, identified } from '../../src/spool/identity.ts'
import { rounds } from '../tier.ts'

const SECRET = 'whsec-canary-8a1f/+='
const NEXT = '0123456789'
const authenticate = makeAuthenticator([{ id: 'ws', secrets: [SECRET, NEXT] }])

const fastPath = (body: string | Buffer): ParsedEvent | null => parseAsSent(Buffer.from(body), null, authenticate)
const fullParse = (body: string | Buffer): ParsedEvent => parseEvent(Buffer.from(body), null, authenticate)

function eventOf(checked: ParsedEvent | null): IdentifiedEvent {
  if (checked === null || 'refused' in checked) throw new Error(checked?.refused ?? 'in doubt')
  return identified({ ...checked.event, receivedAtMs: 0 })
}

/** The body as the fast path appends it; null if the fast path does not accept it. */
function appended(body: string | Buffer): string | null {
  const checked = fastPath(body)
  return checked && 'event' in checked ? Buffer.from(checked.event.payload).toString() : null
}

const MEMBER = `"workspaceSecret":"${SECRET}"`

describe('a body that is appended as sent', () => {
  it.each([
    ['first', `{${MEMBER},"b":1,"a":[2]}`, '{"b":1,"a":[2]}'],
    ['in the middle', `{"b":1,${MEMBER},"a":[2]}`, '{"b":1,"a":[2]}'],
    ['last', `{"b":1,"a":[2],${MEMBER}}`, '{"b":1,"a":[2]}'],
    ['alone', `{${MEMBER}}`, '{}'],
    [
      'between blanks',
      ` { "b" : 1 ,\t"workspaceSecret" :\t"${SECRET}" , "a" : [ 2 ] } `,
      ' { "b" : 1 ,\t "a" : [ 2 ] } ',
    ],
    ['last between blanks', `{ "b" : 1 , ${MEMBER} }`, '{ "b" : 1  }'],
    ['the next one', `{"b":1,"workspaceSecret":"${NEXT}"}`, '{"b":1}'],
  ])('loses only its secret: %s', (_where, body, left) => {
    expect(appended(body)).toBe(left)
  })

  it.each([
    ['colons, brackets and quotes in texts', `{${MEMBER},"text":"a: \\"b\\": {\\\\\\"c\\":1}, [","d":"\\\\"}`],
    ['texts and names beyond ASCII', `{${MEMBER},"größe":"Größe 😀 \u00a0\u2028","n":[1.50,-0,0,123456789012345]}`],
    ['names of prototypes', `{${MEMBER},"__proto__":{"a":1},"constructor":{"prototype":{}},"toString":1}`],
    ['counts of tokens', `{${MEMBER},"tokenUsage":{"inputTokens":12,"maxTokens":null}}`],
    ['one name in many objects', `{${MEMBER},"a":[{"a":1,"b":{"a":2}},{"a":3}],"b":{"b":{}}}`],
    ['names and values of no secret', `{${MEMBER},"a":[{"name":"colour","value":"red"}],"field":"x"}`],
    [
      'customer data, whatever its names and values',
      `{${MEMBER},"formData":{"Password?":"sk-012345678","isEnv":true,"value":1,"key":"token"},"capturedVariables":{"discount_token":"a"},"turns":[{"toolCalls":[{"args":{"token":"t","env":{"X_KEY":"k"}}}],"text":"https://u:p@x"}]}`,
    ],
    [
      'booleans and nulls under the names of secrets',
      `{${MEMBER},"internal":{"hasChangedPassword":true,"apiKey":null}}`,
    ],
    ['empty lists and objects', `{${MEMBER},"a":[],"b":{},"c":[ ],"d":{ },"e":[true,false,null]}`],
  ])('may contain %s', (_what, body) => {
    expect(appended(body)).toBe(body.replace(`${MEMBER},`, ''))
    expect(eventOf(fastPath(body))).toEqual(eventOf(fullParse(body)))
  })
})

describe('a body', () => {
  it.each([
    ['has a key twice', `{${MEMBER},"a":{"password":"canary"},"a":{}}`],
    ['has a key twice, once before a blank', `{${MEMBER},"a":1,"b":{"a":2},"a" :{}}`],
    ['has its secret twice', `{"workspaceSecret":"x","a":1,${MEMBER}}`],
    ['has its secret in another object, too', `{"a":{${MEMBER}},${MEMBER}}`],
    ['has its secret in another object alone', `{"a":{${MEMBER}}}`],
    ['has its secret in a text', `{${MEMBER},"a":"it is ${SECRET}"}`],
    ['has its secret in a text before', `{"a":"it is ${SECRET}",${MEMBER}}`],
    ['has its secret in a name', `{${MEMBER},"${SECRET}":1}`],
    ['has its secret in an address', `{${MEMBER},"a":"https://x/?s=${encodeURIComponent(SECRET)}"}`],
    ['has its other secret', `{${MEMBER},"a":"${NEXT}"}`],
    ['has a number with a secret in it', `{${MEMBER},"a":1${NEXT}}`],
    ['has its secret with an escape', `{${MEMBER},"a":"whsec\\u002dcanary-8a1f/+="}`],
    ['has its secret with another escape', `{${MEMBER},"a":"whsec-canary-8a1f\\/+="}`],
    ['has the name of its secret with an escape', `{"workspac\\u0065Secret":"${SECRET}"}`],
    ['has an escape in a name', `{"a\\n":1,${MEMBER}}`],
    ['has a secret that is not a text', `{"workspaceSecret":7}`],
    ['has no secret', `{"a":1}`],
    ['has the name of a secret', `{${MEMBER},"a":[{"apiKey":"canary"}]}`],
    ['has the name of a secret with a blank beyond ASCII', `{${MEMBER},"api\u00a0key":"canary"}`],
    ['has a field named after a secret', `{${MEMBER},"a":[{"key":"api\u00a0key","value":"canary"}]}`],
    [
      'has a field that may be named after a secret',
      `{${MEMBER},"a":[{"value":"canary","name":"author\\u0069zation"}]}`,
    ],
    ['has an entry of an audit log', `{${MEMBER},"a":[{"field":"nodes[n1].apiKey","oldValue":"canary"}]}`],
    ['has a secret after customer data', `{${MEMBER},"turns":[{"token":1}],"a":{"token":"canary"}}`],
    ['has its secret in customer data', `{${MEMBER},"formData":{"a":"it is ${SECRET}"}}`],
    ['has the name of its secret in customer data', `{${MEMBER},"formData":{"workspaceSecret":"canary"}}`],
    ['has a key under no special name', `{${MEMBER},"a":"sk-canary-0123456789"}`],
    ['has a key in a name', `{${MEMBER},"sk-canary-0123456789":1}`],
    ['has a key in a list', `{${MEMBER},"a":["Bearer canary-0123456789"]}`],
    ['has an address with a user', `{${MEMBER},"a":"https://canary:canary@example.com/"}`],
    ['has an address with a secret', `{${MEMBER},"a":"https://example.com/?api_key=canary"}`],
    ['has JSON with a secret', `{${MEMBER},"a":"\\n {\\"apiKey\\":\\"canary\\"}"}`],
    ['has a PEM', `{${MEMBER},"a":"-----BEGIN PRIVATE KEY-----\\ncanary\\n-----END PRIVATE KEY-----"}`],
    ['has a service with a key', `{${MEMBER},"mcpServers":{"notes":{"env":{"NOTES_KEY":"canary"}}}}`],
    ['has a header', `{${MEMBER},"headers":[{"key":"X-Auth","value":"canary"}]}`],
    ['has a variable of the environment', `{${MEMBER},"a":[{"isEnv":true,"value":"canary"}]}`],
    ['has settings of a voice platform', `{${MEMBER},"vapiConfig":{"anyKey":"canary"}}`],
    ['has tokens that are not counts of a model', `{${MEMBER},"accessTokens":["canary"]}`],
    ['has a number that a double cannot hold', `{${MEMBER},"a":12345678901234567890}`],
    ['has a number with an exponent', `{${MEMBER},"a":1e3}`],
    ['has lines', `{${MEMBER},\n"a":1}`],
    ['has carriage returns', `{${MEMBER},\r"a":1}`],
    ['is deeply nested', `{${MEMBER},"a":${'['.repeat(20)}${']'.repeat(20)}}`],
    ['has a long name', `{${MEMBER},"${'x'.repeat(100)}":1}`],
    ['is large', `{${MEMBER},"a":"${'x'.repeat(300_000)}"}`],
  ])('is in doubt if it %s', (_what, body) => {
    expect(fastPath(body)).toBeNull()
    const checked = fullParse(body)
    if ('event' in checked) expect(Buffer.from(checked.event.payload).toString()).not.toMatch(/canary|workspaceSecret"/)
  })

  const values = String.raw`01 - 1. .5 +1 --1 1..2 tru truee True NaN " "a "\" "\x" [1,] [,1] [1 [} {] {"b"} {"b":} {"b"1} {b:1} {"b":1,} ""a`
  const odd = ['nul\0', '"\t"', '"\0"', '[1 2]', '']
  it.each([
    ...['', ' ', '{', `{${MEMBER}`, `{${MEMBER},`, `{${MEMBER},}`, `{${MEMBER}}}`, `{${MEMBER}}\0`, `{,${MEMBER}}`],
    ...[...values.split(' '), ...odd].map(value => `{${MEMBER},"a":${value}}`),
  ])('is in doubt if it is not JSON: %j', body => {
    expect(fastPath(body)).toBeNull()
    expect(fullParse(body)).toEqual({ refused: 'not-json' })
  })

  it('is in doubt if it is not UTF-8', () => {
    const body = Buffer.from(`{${MEMBER},"accessTokens":"\u00a0","a":"b"}`, 'latin1')
    expect(fastPath(body)).toBeNull()
  })

  it('is in doubt if JSON may spell the secret differently', () => {
    for (const secret of ['with "quotes"', 'with-{braces}', 'ümläüts', 'with\\slash', 'a,b:c[d]']) {
      const one = makeAuthenticator([{ id: 'ws', secrets: [secret] }])
      expect(parseAsSent(Buffer.from(JSON.stringify({ workspaceSecret: secret, a: 1 })), null, one)).toBeNull()
    }
  })
})

describe('a second copy of the secret', () => {
  const secrets = fc.oneof(
    fc.string({
      unit: fc.constantFrom('a', 'b', 'w', '_', '-', 'A', '7', '+', '/', '%', '='),
      minLength: 1,
      maxLength: 40,
    }),
    fc.constantFrom(
      'whsec_0123456789abcdef',
      'onlysmallletters',
      'ends-late_',
      'short',
      'UPPERCASE',
      '12345678',
      'a%2Fb%2Fc',
    ),
  )
  const around = fc.string({ unit: fc.constantFrom('a', 'w', '_', ' ', 'A', '7', '%', 'ä') })

  it('is found in every notation and place', () => {
    fc.assert(
      fc.property(secrets, around, around, fc.boolean(), fc.nat(2), (secret, before, behind, isFirst, way) => {
        const authenticate = makeAuthenticator([{ id: 'ws', secrets: [secret] }])
        const form = [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)][way]
        const [own, other] = [`"workspaceSecret":"${secret}"`, `"x":${JSON.stringify(before + form + behind)}`]
        const body = Buffer.from(`{${isFirst ? `${own},${other}` : `${other},${own}`}}`)
        expect(parseAsSent(body, null, authenticate)).toBeNull()
      }),
      { numRuns: rounds('FAULT_RUNS', { usual: 1000, deep: 50000 }) },
    )
  })
})

it('a body with an unknown secret is refused', () => {
  expect(fastPath('{"workspaceSecret":"x"}')).toEqual({ refused: 'wrong-secret' })
  expect(parseAsSent(Buffer.from(`{${MEMBER}}`), 'elsewhere', authenticate)).toEqual({ refused: 'wrong-secret' })
})

describe('member names', () => {
  const names = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => `"n${from + index}":1`).join(',')

  it('are distinguished however many there have been', () => {
    for (let from = 0; from < 20_000; from += 500) {
      const some = names(from, 500)
      expect(appended(`{${some},${MEMBER},"apiKeys":1,"a":2}`)).toBeNull()
      expect(appended(`{${some},${MEMBER},"a":2}`)).toBe(`{${some},"a":2}`)
      expect(appended(`{${some},${MEMBER},"n${from + 7}":2}`)).toBeNull()
    }
  })

  it('are in doubt if too many are new, until they are known', () => {
    const body = `{${MEMBER},${names(100_000, 1_500)}}`
    const taken = [1, 2, 3].map(() => fastPath(body) !== null)
    expect([taken[0], taken[2]]).toEqual([false, true])
    expect(fastPath(`{${MEMBER},"a":[${'{"name":"n","value":1},'.repeat(1_500)}{}]}`)).toBeNull()
  })
})

/** JSON in any notation: whitespace, escapes, duplicate keys, and the keys that the receiver looks for. */
const { text } = fc.letrec<{ text: string; value: string; member: string }>(tie => {
  const blank = fc.constantFrom('', '', '', ' ', '\t')
  const string = fc.oneof(
    fc.constantFrom('"a"', '"b"', '"c"', '":d"', '"e\\""', '"\\u0061"', '"\\/"', '"\\\\"', '"ä\u00a0"', '"\\ud83d"'),
    fc.constantFrom('"workspaceSecret"', '"api\u00a0key"', '"maxTokens"', '"password"', '"key"', '"value"', '"isEnv"'),
    fc.constantFrom(
      '"turns"',
      '"formData"',
      '"env"',
      '"OPENAI_KEY"',
      '"X-Auth"',
      '"hasChangedPassword"',
      '"tokenUsage"',
    ),
    fc.constantFrom('"sk-012345678"', '"https://u:p@x/?token=1"', '"Bearer abc123456"', '"{\\"token\\":\\"x\\"}"'),
    fc.constantFrom(`"${SECRET}"`, `"x${NEXT}"`, `"${encodeURIComponent(SECRET)}"`, '"\\"workspaceSecret\\":\\"x\\""'),
    fc.string({ unit: 'binary' }).map(value => JSON.stringify(value)),
  )
  const plain = fc.constantFrom('0', '-0', '1.50', '1e3', '1e400', NEXT.slice(1), '9007199254740993', 'true', 'null')
  const list = (open: string, close: string, element: fc.Arbitrary<string>) =>
    fc.array(element, { maxLength: 4 }).map(elements => `${open}${elements.join(',')}${close}`)
  const value = fc.oneof(
    { depthSize: 'small' },
    string,
    plain,
    list('[', ']', tie('value')),
    list('{', '}', tie('member')),
  )
  return {
    value: fc.tuple(blank, value, blank).map(parts => parts.join('')),
    member: fc.tuple(blank, string, blank, tie('value')).map(([a, key, b, inner]) => `${a}${key}${b}:${inner}`),
    text: fc
      .tuple(fc.array(tie('member'), { maxLength: 5 }), fc.nat(5), fc.constantFrom(SECRET, NEXT), blank)
      .map(([members, at, secret, b]) => {
        const own = `${b}"workspaceSecret"${b}:${b}"${secret}"${b}`
        return `{${members.toSpliced(at, 0, own).join(',')}}`
      }),
  }
})

it('an event is the same whether it is appended as sent or re-encoded', () => {
  let sent = 0
  fc.assert(
    fc.property(text, body => {
      const checked = fastPath(body)
      if (checked === null) return
      if ('refused' in checked) return expect(fullParse(body)).toEqual(checked)
      sent += 1
      expect(eventOf(checked)).toEqual(eventOf(fullParse(body)))
      for (const secret of [SECRET, NEXT]) expect(appended(body)).not.toContain(secret)
    }),
    { numRuns: rounds('FAULT_RUNS', { usual: 2000, deep: 50000 }) },
  )
  // Proves that some of the random bodies are appended as sent.
  expect(sent).toBeGreaterThan(100)
})

it('a body that is appended as sent is the JSON that was sent, minus the secret', () => {
  const values = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ stringUnit: 'binary' }))
  fc.assert(
    fc.property(values, payload => {
      const { workspaceSecret: _, ...rest } = payload
      const body = JSON.stringify({ ...rest, workspaceSecret: SECRET })
      const left = appended(body)
      if (left !== null) expect(JSON.parse(left)).toEqual(JSON.parse(JSON.stringify(rest)))
    }),
  )
})

it('a damaged body gives the same event on the fast path as on the slow one', () => {
  const intact = Buffer.from(`{"event":"lead_captured","createdAt":1.5,${MEMBER},"a":[{"b":"c\\n","d":null},-2]}`)
  fc.assert(
    fc.property(fc.nat(intact.length - 1), fc.nat(255), (at, byte) => {
      const body = Buffer.from(intact)
      body[at] = byte
      const checked = fastPath(body)
      const parsed = fullParse(body)
      if (checked && 'event' in checked) expect(eventOf(checked)).toEqual(eventOf(parsed))
      else if (checked) expect(parsed).toEqual(checked)
    }),
    { numRuns: rounds('FAULT_RUNS', { usual: 2000, deep: 50000 }) },
  )
})
