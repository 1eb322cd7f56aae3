// Deliveries with a valid secret that are compressed, or cannot be parsed: the vendor sends none of them again.
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { makeSecretFinder, unreadableEvent } from '../../src/receiver/unreadable.ts'
import { SECRET, startTestReceiver, type TestReceiver, WORKSPACE } from './test-receiver.ts'

const EVENT = { event: 'webhook_test', createdAt: 1, message: 'grüße' }
const body = (more: object = {}) => Buffer.from(JSON.stringify({ workspaceSecret: SECRET, ...EVENT, ...more }))

const send = ({ receiver }: TestReceiver, bytes: Uint8Array, coding?: string) =>
  fetch(`${receiver.url}/webhooks`, {
    method: 'POST',
    body: bytes,
    headers: coding === undefined ? {} : { 'content-encoding': coding },
  })

const utf16 = (bytes: Buffer) => Buffer.from(`\ufeff${bytes}`, 'utf16le')

describe('an event', () => {
  it.each<[string, Uint8Array, string?]>([
    ['in gzip', gzipSync(body()), 'gzip'],
    ['in gzip that no header declares', gzipSync(body())],
    ['in deflate', deflateSync(body()), 'Deflate'],
    ['in deflate without the header of zlib', deflateRawSync(body()), 'deflate'],
    ['in brotli', brotliCompressSync(body()), 'br'],
    ['in two codings', brotliCompressSync(gzipSync(body())), 'gzip, br'],
    ['with a coding that it does not have', body(), 'gzip'],
    ['with an unknown coding', body(), 'aws-chunked'],
    ['in UTF-16', utf16(body())],
    ['in UTF-16 of the other byte order', utf16(body()).swap16()],
    ['in UTF-16 without a mark', Buffer.from(String(body()), 'utf16le')],
  ])('is stored: %s', async (_what, bytes, coding) => {
    const test = await startTestReceiver()
    expect((await send(test, bytes, coding)).status).toBe(200)
    expect(await test.sealed()).toEqual([EVENT])
  })
})

describe('what cannot be parsed, but contains a valid secret,', () => {
  const text = String(body())
  it.each<[string, string | Uint8Array, string?]>([
    ['with NaN', text.replace(':1,', ':NaN,')],
    ['cut off', text.slice(0, -9)],
    ['cut off in its second secret', `${text.slice(0, -1)},"again":"${SECRET.slice(0, -3)}`],
    ['cut off in its coding', gzipSync(body({ filler: 'x'.repeat(9_000) })).subarray(0, -20), 'gzip'],
    ['with a comma too many', text.replace('}', ',}')],
    ['with a control character', text.replace('webhook', 'web\0hook')],
    ['in Latin-1, cut off', Buffer.from(text.slice(0, -1), 'latin1')],
    ['in UTF-16, cut off', utf16(body()).subarray(0, -7)],
    ['as a form', `payload=${encodeURIComponent(text)}&more=1`],
    ['twice in one body', text + text],
    ['with the secret in another place than the API document says', `[${text}]`],
    ['nested too deeply', text.replace(':1,', `:${'['.repeat(600)}${']'.repeat(600)},`)],
    ['larger than what is parsed without a secret', `{'a':'${'x'.repeat(80_000)}','secret':'${SECRET}'}`],
  ])('is stored as unreadable, without its secret: %s', async (_what, bytes, coding) => {
    const test = await startTestReceiver()
    expect((await send(test, Buffer.from(bytes), coding)).status).toBe(200)
    const [event, ...others] = await test.sealed()
    expect([Object.keys(event!), others]).toEqual([['text'], []])
    expect(event!.text).toMatch(/\*\*\*/)
    expect(event!.text).toMatch(/web|xxx/)
    expect(event!.text).not.toContain('canary')
  })

  it('is refused without the secret, or with that of another workspace than the addressed one', async () => {
    const { receiver, sealed } = await startTestReceiver()
    const answers = [
      [text.replace(':1,', ':NaN,').replaceAll(SECRET, SECRET.slice(1)), WORKSPACE, 400],
      [text.replace(':1,', ':NaN,'), 'elsewhere', 400],
    ] as const
    for (const [bytes, workspace, status] of answers)
      expect((await fetch(`${receiver.url}/webhooks/${workspace}`, { method: 'POST', body: bytes })).status).toBe(
        status,
      )
    expect(await sealed()).toEqual([])
  })
})

describe('a body that decodes to too much', () => {
  it('is refused, and many of them occupy little memory', async () => {
    const test = await startTestReceiver({ maxBodyBytes: 8_000_000 })
    const bomb = gzipSync(Buffer.alloc(50_000_000))
    const before = process.memoryUsage().arrayBuffers
    let most = 0
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage().arrayBuffers - before)
    }, 5)
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(test, bomb, 'gzip')))
    clearInterval(watch)
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([413]))
    expect(most).toBeLessThan(64_000_000)
    expect((await send(test, gzipSync(body()), 'gzip')).status).toBe(200)
    expect(await test.sealed()).toEqual([EVENT])
  })
})

describe('a secret', () => {
  const own = 'whsec-canary-8a1f/Ω"+='
  const find = makeSecretFinder([
    { id: 'a', secrets: ['other-secret', own] },
    { id: 'b', secrets: ['third-secret-77'] },
  ])

  it('is found anywhere in a body, and belongs to its workspace', () => {
    for (const form of [own, encodeURIComponent(own), JSON.stringify(own)]) {
      for (const bytes of [form, `x${form}`, `${form}"x`, `${'ab'.repeat(5_000)}${form}`])
        expect(find(Buffer.from(bytes), null)?.id).toBe('a')
      expect(find(Buffer.from(form), 'b')).toBeUndefined()
    }
    expect(find(Buffer.from('a third-secret-77'), null)?.id).toBe('b')
    for (const bytes of ['', 'other-secre', 'ther-secret', own.slice(1), 'other-secreT'])
      expect(find(Buffer.from(bytes), null)).toBeUndefined()
  })

  it('is masked in any form, and with any bytes around it', () => {
    for (const form of [own, encodeURIComponent(own), JSON.stringify(own), Buffer.from(own).toString('base64')]) {
      const bytes = Buffer.concat([Buffer.from([0xff, 0xc3]), Buffer.from(`"a":"${form}"`)])
      const { payload } = unreadableEvent(bytes, { id: 'a', secrets: [own] })
      expect(String(payload)).not.toMatch(/canary|8a1f/)
      expect(String(payload)).toContain('***')
    }
  })
})
