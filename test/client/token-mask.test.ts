import {
  brotliCompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gunzipSync,
  gzipSync,
  inflateRawSync,
  inflateSync,
} from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { failedWithoutToken, pageWithoutToken, textWithoutToken } from '../../src/client/redaction/token-mask.ts'
import { rounds } from '../tier.ts'
import { clientFor, failureOf, TOKEN } from './vendor-fixture.ts'

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
  mail: text =>
    text.replace(/[^A-Za-z0-9]/g, each => `=${each.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`),
  hex: text => Buffer.from(text).toString('hex'),
  base64: text => Buffer.from(text).toString('base64'),
  'base64 for addresses': text => Buffer.from(text).toString('base64url'),
  'base64 in lines': text => Buffer.from(text).toString('base64').replace(/.{16}/g, '$&\r\n'),
  'a folded header': text => text.replace(/.{10}/g, '$&\r\n '),
  'chunks that were written out': text => text.replace(/.{10}/g, '$&\r\na\r\n'),
}

const COMPRESSIONS: Record<string, { pack: (body: Buffer) => Buffer; encoding: string | null }> = {
  nothing: { pack: body => body, encoding: null },
  gzip: { pack: body => gzipSync(body), encoding: 'gzip' },
  'gzip without a Content-Encoding': { pack: body => gzipSync(body), encoding: null },
  deflate: { pack: body => deflateSync(body), encoding: 'deflate' },
  'raw deflate': { pack: body => deflateRawSync(body), encoding: 'deflate' },
  'zlib without a Content-Encoding': { pack: body => deflateSync(body), encoding: null },
  brotli: { pack: body => brotliCompressSync(body), encoding: 'br' },
  'two encodings': { pack: body => gzipSync(deflateSync(body)), encoding: 'deflate, gzip' },
  'gzip in gzip': { pack: body => gzipSync(gzipSync(body)), encoding: 'gzip' },
}

const tokens = fc
  .string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map(code => String.fromCharCode(code)),
    minLength: 8,
    maxLength: 60,
  })
  .filter(token => !token.includes('*'))
const around = fc.string({ unit: 'binary', maxLength: 40 })
const anyEncoding = fc.constantFrom(...Object.keys(ENCODINGS)).map(name => ENCODINGS[name]!)
const anyCompression = fc.constantFrom(...Object.keys(COMPRESSIONS)).map(name => COMPRESSIONS[name]!)

/** Every text that can be decoded from the bytes, decompressed at most twice. */
function readings(bytes: Buffer, depth = 0): string[] {
  const inner = [gunzipSync, inflateSync, inflateRawSync].flatMap(unpack => {
    try {
      return depth < 2 ? readings(unpack(bytes, { finishFlush: constants.Z_SYNC_FLUSH }), depth + 1) : []
    } catch {
      return []
    }
  })
  return [bytes.toString('latin1'), ...inner]
}

describe('a failed answer', () => {
  it.each(Object.entries(ENCODINGS))('loses a token written as %s, and nothing else', (_, encode) => {
    const echo = (token: string) =>
      Buffer.from(`<p>é authorization: ${encode(`Bearer ${token}`)}\n</p> host: example.com`)
    const kept = failedWithoutToken(echo(TOKEN), { tokens: [TOKEN], encoding: null }).toString()
    expect(kept).toContain('***')
    expect(kept).toMatch(/^<p>é authorization: .*<\/p> host: example.com$/s)
    expect(kept.length).toBeLessThan(110)
    for (const other of Object.values(ENCODINGS)) expect(kept).not.toContain(other(TOKEN))
  })

  it.each(Object.entries(COMPRESSIONS))(
    'compressed as %s is searched, and stored unpacked if it contains the token',
    (_, { pack, encoding }) => {
      const options = { tokens: [TOKEN], encoding }
      const kept = failedWithoutToken(pack(Buffer.from(`a host, and Bearer ${TOKEN}`)), options)
      expect(kept.toString()).toBe('a host, and Bearer ***')
      const innocent = pack(Buffer.from('a host, and no more'))
      expect(failedWithoutToken(innocent, options)).toEqual(innocent)
    },
  )

  it('in UTF-16 loses the token, too', () => {
    const echo = Buffer.from(`a host, and Bearer ${TOKEN}`, 'utf16le')
    for (const body of [echo, Buffer.from(echo).swap16()])
      expect(
        failedWithoutToken(body, { tokens: [TOKEN], encoding: null })
          .toString('latin1')
          .replaceAll('\0', ''),
      ).toBe('a host, and Bearer ***')
  })

  it('that is compressed and damaged, or in an unknown encoding, is not kept', () => {
    const damaged = gzipSync(Buffer.from(`Bearer ${TOKEN} `.repeat(50)))
    damaged[20]! ^= 0xff
    for (const [body, encoding] of [
      [damaged, 'gzip'],
      [damaged, null],
      [Buffer.from([1, 2, 3, 0, 5]), 'secret-sauce'],
    ] as const)
      expect(failedWithoutToken(body, { tokens: [TOKEN], encoding }).toString()).toMatch(
        /^\[\d+ bytes \(.*\) that cannot be unpacked/,
      )
    const text = Buffer.from(`no gzip, and Bearer ${TOKEN}`)
    expect(failedWithoutToken(text, { tokens: [TOKEN], encoding: 'gzip' }).toString()).toBe('no gzip, and Bearer ***')
  })

  it('never contains a token in any encoding and compression, wherever the bytes end', () => {
    fc.assert(
      fc.property(
        tokens,
        around,
        around,
        anyEncoding,
        anyCompression,
        fc.nat(),
        (token, before, behind, encode, { pack, encoding }, end) => {
          const packed = pack(Buffer.from(`${before}${encode(token)}${behind}`))
          const received = packed.subarray(0, packed.length - (end % 3 === 0 ? end % packed.length : 0))
          const kept = failedWithoutToken(received, { tokens: [token], encoding })
          for (const text of readings(kept))
            for (const other of Object.values(ENCODINGS)) expect(text).not.toContain(other(token))
        },
      ),
      { numRuns: rounds('FAULT_RUNS', { usual: 60, deep: 2000 }) },
    )
  })

  it('that ends inside the token is cut before it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 4, max: TOKEN.length }), anyEncoding, (length, encode) => {
        const body = Buffer.from(`authorization: ${encode(TOKEN).slice(0, length)}`)
        const kept = failedWithoutToken(body, { tokens: [TOKEN], encoding: null }).toString()
        expect(kept).not.toContain(TOKEN.slice(0, 4))
        expect(kept).toMatch(/^authorization: /)
      }),
    )
  })

  it('is kept unchanged if it contains no token', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), bytes => {
        fc.pre(bytes[0] !== 0x1f)
        const body = Buffer.from(bytes)
        expect(failedWithoutToken(body, { tokens: [TOKEN], encoding: null })).toEqual(body)
      }),
    )
  })

  it('may arrive in chunks that end inside the token', async () => {
    const echo = `<html>authorization: Bearer ${TOKEN}</html>`
    const { client } = await clientFor(
      [
        async response => {
          response.writeHead(200, { 'content-type': 'text/html' })
          for (let at = 0; at < echo.length; at += 7)
            await new Promise<void>(resolve => response.write(echo.slice(at, at + 7), () => setImmediate(resolve)))
          response.end()
        },
      ],
      { maxAttempts: 1 },
    )
    const { exchange, facts } = await failureOf(client.exportConversations({ agentId: 'a1', query: {} }))
    expect(exchange!.body.toString()).toBe('<html>authorization: Bearer ***</html>')
    expect(facts.bodyBytes).toBe(exchange!.body.length)
  })
})

describe('a page', () => {
  it('loses an echoed token in any JSON notation, and nothing else', () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom('plain', 'JSON of PHP', 'base64', 'URL-encoded'), (json, encode) => {
        const echo = `"headers":{"authorization":"Bearer ${ENCODINGS[encode]!(TOKEN).replace(/^"|"$/g, '')}"}`
        const { bytes, count } = pageWithoutToken(Buffer.from(`{"data":${json},${echo}}`), [TOKEN])
        expect(count).toBe(1)
        expect(JSON.parse(bytes.toString())).toMatchObject({
          data: JSON.parse(json),
          headers: { authorization: expect.stringMatching(/^Bearer ?.*\*\*\*/) },
        })
        expect(bytes.toString()).not.toContain(ENCODINGS[encode]!(TOKEN))
      }),
    )
  })

  it('without a token keeps its bytes, even if the token could be a word or a number', () => {
    const body = Buffer.from('{"data":[{"text":"a demo of 1234567890123456"}]}')
    for (const token of [TOKEN, 'demo', '1234567890123456'])
      expect(pageWithoutToken(body, [token])).toEqual({ bytes: body, count: 0 })
  })
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
