import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { failedWithoutToken, pageWithoutToken, textWithoutToken } from '../../src/client/redaction/token-mask.ts'
import { isDeep, rounds } from '../tier.ts'
import { TOKEN } from './vendor-fixture.ts'

/** Encodings in which a program may print what it received. */
const ENCODINGS: Record<string, (text: string) => string> = {
  plain: text => text,
  'URL-encoded': encodeURIComponent,
  'URL-encoded in lower case': text => encodeURIComponent(text).replace(/%../g, byte => byte.toLowerCase()),
  'URL-encoded twice': text => encodeURIComponent(encodeURIComponent(text)),
  JSON: text => JSON.stringify(text),
  'JSON in JSON': text => JSON.stringify(JSON.stringify(text)),
  'JSON of PHP': text => JSON.stringify(text).replaceAll('/', '\\/'),
  'JSON of code points': text =>
    [...text].map(each => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
  'a string of JavaScript': text =>
    [...text].map(each => `\\x${each.charCodeAt(0).toString(16).padStart(2, '0')}`).join(''),
  HTML: text => text.replace(/[&<>"'+/=]/g, each => `&#${each.charCodeAt(0)};`),
  'HTML in hex': text => text.replace(/[&<>"'+/=]/g, each => `&#x${each.charCodeAt(0).toString(16).toUpperCase()};`),
  'HTML by name': text =>
    text
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;')
      .replaceAll("'", '&apos;'),
  hex: text => Buffer.from(text).toString('hex'),
  base64: text => Buffer.from(text).toString('base64'),
  'base64 for addresses': text => Buffer.from(text).toString('base64url'),
  'base64 in lines': text => Buffer.from(text).toString('base64').replace(/.{16}/g, '$&\r\n'),
  'a folded header': text => text.replace(/.{10}/g, '$&\r\n '),
}

const tokens = fc
  .string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map(code => String.fromCharCode(code)),
    minLength: 8,
    maxLength: 60,
  })
  .filter(token => /^[!#-&(-[\]-~]+$/.test(token) && !token.includes('*'))
const around = fc.string({ unit: 'binary', maxLength: 40 })
const anyEncoding = fc.constantFrom(...Object.keys(ENCODINGS)).map(name => ENCODINGS[name]!)

/** Encodings in which the token cannot always be replaced, so the text is not kept. */
const NOT_REPLACED = ['base64 in lines', 'a folded header', 'base64', 'base64 for addresses']
const NOT_KEPT = /^\[\d+ bytes that cannot be searched for the API token are not kept\]\n$/

describe('a failed answer', () => {
  it.each(Object.entries(ENCODINGS))('loses a token written as %s', (encoding, encode) => {
    const echo = Buffer.from(`<p>é authorization: ${encode(`Bearer ${TOKEN}`)}\n</p> host: example.com`)
    const kept = failedWithoutToken(echo, { tokens: [TOKEN], encoding: null }).toString()
    if (!NOT_REPLACED.includes(encoding))
      expect(kept).toMatch(/^<p>é authorization: .*\*\*\*.*<\/p> host: example.com$/s)
    for (const other of Object.values(ENCODINGS)) expect(kept).not.toContain(other(TOKEN))
  })

  it.each([
    ['gzip', gzipSync, 'gzip'],
    ['gzip without a Content-Encoding', gzipSync, null],
    ['deflate', deflateSync, 'deflate'],
    ['brotli', brotliCompressSync, 'br'],
    ['an unknown encoding', (body: Buffer) => body, 'secret-sauce'],
    ['UTF-16', (body: Buffer) => Buffer.from(body.toString(), 'utf16le'), null],
    ['UTF-16 of the other order', (body: Buffer) => Buffer.from(body.toString(), 'utf16le').swap16(), null],
  ])('in %s is not kept', (_, pack, encoding) => {
    const body = pack(Buffer.from(`a host, and Bearer ${TOKEN}`))
    expect(failedWithoutToken(body, { tokens: [TOKEN], encoding }).toString()).toMatch(NOT_KEPT)
  })

  it('never contains a token in any encoding, wherever the bytes end', () => {
    fc.assert(
      fc.property(tokens, around, around, anyEncoding, fc.nat(), (token, before, behind, encode, end) => {
        const sent = Buffer.from(`${before}${encode(token)}${behind}`)
        const received = sent.subarray(0, sent.length - (end % 3 === 0 ? end % sent.length : 0))
        const kept = failedWithoutToken(received, { tokens: [token], encoding: null }).toString('latin1')
        for (const other of Object.values(ENCODINGS)) expect(kept).not.toContain(other(token))
      }),
      { numRuns: rounds('FAULT_RUNS', { usual: 40, deep: 2_000 }) },
    )
  })

  it('that ends inside the token is cut before it, or not kept', () => {
    fc.assert(
      fc.property(fc.integer({ min: 4, max: TOKEN.length }), anyEncoding, (length, encode) => {
        const body = Buffer.from(`authorization: ${encode(TOKEN).slice(0, length)}`)
        const kept = failedWithoutToken(body, { tokens: [TOKEN], encoding: null }).toString()
        expect(kept).not.toContain(TOKEN.slice(0, 4))
        if (!NOT_KEPT.test(kept)) expect(kept).toMatch(/^authorization: /)
      }),
    )
  })

  it('is kept unchanged if it is text without a token', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'aZ9 \n\té一%&#=\\"<>') }), text => {
        const body = Buffer.from(text)
        expect(failedWithoutToken(body, { tokens: [TOKEN], encoding: 'identity' })).toEqual(body)
      }),
    )
  })
})

describe('a page', () => {
  it('loses an echoed token in any JSON notation, and nothing else', () => {
    fc.assert(
      fc.property(
        fc.json(),
        fc.constantFrom('plain', 'JSON of PHP', 'base64', 'URL-encoded', 'hex'),
        (json, encode) => {
          const echo = `"headers":{"authorization":"Bearer ${ENCODINGS[encode]!(TOKEN).replace(/^"|"$/g, '')}"}`
          const { bytes, count } = pageWithoutToken(Buffer.from(`{"data":${json},${echo}}`), [TOKEN])
          expect(count).toBe(1)
          expect(JSON.parse(bytes.toString())).toMatchObject({
            data: JSON.parse(json),
            headers: { authorization: expect.stringMatching(/^Bearer ?.*\*\*\*/) },
          })
          expect(bytes.toString()).not.toContain(ENCODINGS[encode]!(TOKEN))
        },
      ),
    )
  })

  it.each(['JSON of .NET', 'JSON of Go', 'URL-encoded', 'HTML by name'])(
    'loses a token with characters that escapes begin with, written as %s',
    encoding => {
      const token = 'tok_%41&lt;<b>+4f9Kq2Zs8vLw=='
      const net = token.replace(/[&<>+]/g, each => `\\u00${each.charCodeAt(0).toString(16).toUpperCase()}`)
      const go = net.replaceAll('\\u002B', '+').toLowerCase().replace(/4f9.*/, '4f9Kq2Zs8vLw==')
      const written = { 'JSON of .NET': net, 'JSON of Go': go }[encoding] ?? ENCODINGS[encoding]!(token)
      const { bytes, count } = pageWithoutToken(Buffer.from(`{"data":[],"echo":"Bearer ${written}"}`), [token])
      expect([count, JSON.parse(bytes.toString())]).toEqual([1, { data: [], echo: 'Bearer ***' }])
    },
  )

  it('without a token keeps its bytes, even if the token could be a word or a number', () => {
    const body = Buffer.from('{"data":[{"text":"a demo of 1234567890123456"}]}')
    for (const token of [TOKEN, 'demo', '1234567890123456'])
      expect(pageWithoutToken(body, [token])).toEqual({ bytes: body, count: 0 })
  })
})

/** Ways in which a serializer, a proxy or a template escapes one character; each may be applied to the result of another. */
const ESCAPES: Record<string, (character: string) => string> = {
  plain: each => each,
  'JSON in upper case': each => `\\u00${each.charCodeAt(0).toString(16).toUpperCase()}`,
  'JSON in lower case': each => `\\u00${each.charCodeAt(0).toString(16)}`,
  slash: each => (each === '/' ? '\\/' : each),
  percent: each => `%${each.charCodeAt(0).toString(16).toUpperCase()}`,
  'percent in lower case': each => `%${each.charCodeAt(0).toString(16)}`,
  decimal: each => `&#${each.charCodeAt(0)};`,
  hexadecimal: each => `&#x${each.charCodeAt(0).toString(16)};`,
}

/** Escapes of a whole text, as another layer on its way adds them. */
const LAYERS: Record<string, (text: string) => string> = {
  none: text => text,
  'JSON in JSON': text => JSON.stringify(text).slice(1, -1),
  'JSON of .NET': text => text.replace(/[&<>+'`]/g, each => ESCAPES['JSON in upper case']!(each)),
  address: encodeURIComponent,
  HTML: text => text.replaceAll('&', '&amp;'),
}

const FORMS: Record<string, (token: string) => string> = {
  itself: token => token,
  'basic authentication': token => Buffer.from(`user:${token}`).toString('base64'),
  'base64 for addresses': token => Buffer.from(token).toString('base64url'),
  hex: token => Buffer.from(token).toString('hex').toUpperCase(),
}

interface Echo {
  form: string
  /** The escape of each character, repeated. */
  escapes: string[]
  layers: string[]
}

function echoOf(token: string, { form, escapes, layers }: Echo): string {
  const written = [...FORMS[form]!(token)].map((each, at) => ESCAPES[escapes[at % escapes.length]!]!(each)).join('')
  return layers.reduce((text, layer) => LAYERS[layer]!(text), written)
}

/** Undoes every escape, in any order, as a reader of the page might. */
function unescaped(text: string): string {
  let left = text
  for (let before = ''; before !== left; ) {
    before = left
    left = left
      .replace(/\\u([0-9a-f]{4})|%([0-9a-f]{2})|&#x([0-9a-f]+);/gi, (_, a, b, c) =>
        String.fromCharCode(parseInt(a ?? b ?? c, 16)),
      )
      .replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
      .replaceAll('&amp;', '&')
      .replace(/\\([\\/"])/g, '$1')
  }
  return left
}

/** Masks a page with the echo; expects that no reader finds the token, and that the records are as they were. */
function expectMasked(token: string, echo: Echo): void {
  const records = '[{"ID":"c1","text":"a \\u00e9 %20 &amp; \\/ \\"b\\"","n":1e2}]'
  const page = `{"data":${records},"echo":{"authorization":"Bearer ${echoOf(token, echo)}"},"hasMore":false}`
  const { bytes, count } = pageWithoutToken(Buffer.from(page), [token])
  const kept = bytes.toString()
  const shown = JSON.stringify({ token, ...echo, kept })
  expect(count, shown).toBe(1)
  for (const form of Object.values(FORMS)) {
    const secret = form(token).replace(/=+$/, '').slice(8, -2)
    expect(unescaped(kept).toLowerCase().includes(secret.toLowerCase()), shown).toBe(false)
  }
  expect(kept, shown).toContain(`{"data":${records},`)
  expect(() => JSON.parse(kept), shown).not.toThrow()
}

describe('a page that echoes the token with escapes', () => {
  const token = 'tok_4f9+Kq2Z/s8v&Lw%1=='
  const examples: Echo[] = [
    { form: 'itself', escapes: ['JSON in upper case'], layers: [] },
    { form: 'itself', escapes: ['plain', 'plain', 'percent in lower case'], layers: ['address'] },
    { form: 'itself', escapes: ['slash'], layers: ['JSON of .NET'] },
    { form: 'itself', escapes: ['slash'], layers: ['JSON in JSON', 'JSON in JSON'] },
    { form: 'itself', escapes: ['decimal', 'plain'], layers: ['JSON of .NET'] },
    { form: 'itself', escapes: ['hexadecimal'], layers: ['HTML', 'address'] },
    { form: 'itself', escapes: ['plain', 'JSON in lower case', 'percent'], layers: ['JSON in JSON', 'address'] },
    { form: 'basic authentication', escapes: ['plain', 'JSON in upper case'], layers: [] },
    { form: 'basic authentication', escapes: ['percent', 'plain'], layers: ['address', 'address'] },
    { form: 'base64 for addresses', escapes: ['decimal'], layers: ['HTML', 'JSON of .NET'] },
    { form: 'hex', escapes: ['plain', 'percent'], layers: ['JSON in JSON'] },
  ]
  it.each(examples)('loses it: $form, $escapes, $layers', echo => expectMasked(token, echo))

  it.runIf(isDeep)(
    'loses it, however it is escaped, and nothing else',
    () => {
      const echoes = fc.record({
        form: fc.constantFrom(...Object.keys(FORMS)),
        escapes: fc.array(fc.constantFrom(...Object.keys(ESCAPES)), { minLength: 1, maxLength: 5 }),
        layers: fc.array(fc.constantFrom(...Object.keys(LAYERS)), { maxLength: 3 }),
      })
      const long = tokens.filter(one => one.length >= 16 && /[A-Za-z]/.test(one))
      fc.assert(fc.property(long, echoes, expectMasked), { numRuns: rounds('FAULT_RUNS', { usual: 25, deep: 1_000 }) })
    },
    600_000,
  )
})

describe('a text', () => {
  it('loses every token', () => {
    fc.assert(
      fc.property(tokens, around, around, anyEncoding, (token, before, behind, encode) => {
        const text = `${before}${encode(token)}${behind}`
        const masked = textWithoutToken(text, [token])
        expect(masked).not.toContain(token)
        expect(masked).toContain('***')
      }),
    )
    expect(textWithoutToken('ö 一 no token', [TOKEN])).toBe('ö 一 no token')
  })
})
