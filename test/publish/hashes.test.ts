// Hashes of personal data, compared with the HMAC of node:crypto over the value in its normal form.
import { createHmac } from 'node:crypto'
import { blobValue } from '@duckdb/node-api'
import { beforeAll, describe, expect, it } from 'vitest'
import type { PiiClass } from '../../src/catalog/shape.ts'
import { hmacPads, PAD_VARIABLES, publishedValue } from '../../src/publish/pii.ts'
import { databaseOfFile } from '../of-file.ts'
import { DEFAULT } from './published.ts'

const KEY = Buffer.from('000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f', 'hex')
const expected = (normal: string): string => createHmac('sha256', KEY).update(normal).digest('hex')

const connection = await databaseOfFile()

beforeAll(async () => {
  const pads = hmacPads(KEY)
  for (const pad of ['inner', 'outer'] as const)
    await connection.run(`SET VARIABLE ${PAD_VARIABLES[pad]} = $pad`, { pad: blobValue(pads[pad]) })
})

/** Returns the value that a hashing target receives. */
async function hashOf(value: string | null, pii: PiiClass = 'identity'): Promise<unknown> {
  const column = { name: 'value', sqlType: 'VARCHAR', about: '', pii, path: null }
  const sql = `SELECT ${publishedValue(column, DEFAULT)} FROM (SELECT $value::VARCHAR AS value) t`
  return (await connection.runAndReadAll(sql, { value })).getRows()[0]![0]
}

describe('a hash', () => {
  it('is an HMAC-SHA256, here of a published test vector', async () => {
    // RFC 4231 has no key of 32 bytes; this vector was computed by `openssl dgst -sha256 -mac HMAC -macopt hexkey:…`.
    expect(await hashOf('eve@example.com')).toBe('6977fe12e71c2236d809fb5d6efab71dc48fd03600eb1eb868b8330104137e32')
  })

  it.each([
    ['Eve@Example.COM', 'eve@example.com'],
    [' Eve \t\n Miller ', 'eve miller'],
    ['Eve\u00a0Miller\u200b', 'eve miller'],
    ['Zoe\u0308', 'zo\u00eb'],
    ['ΆΝΝΑ', 'άννα'],
    ['Eve Miller <EVE@example.com>', 'eve@example.com'],
    ['"Miller, Eve" <eve@example.com>', 'eve@example.com'],
    ["O'Neil; --", "o'neil; --"],
    ['a\0b', 'a\0b'],
    ['\u{1f600} x', '\u{1f600} x'],
  ])('of %j is that of %j', async (value, normal) => {
    expect(await hashOf(value)).toBe(expected(normal))
  })

  it.each([
    ['+49 (30) 123-456', '4930123456'],
    ['004930123456', '4930123456'],
    ['+49 (0)30 123456', '4930123456'],
    ['+49.30.123.456', '4930123456'],
    ['\u202a+49\u00a030\u2011123456\u202c', '4930123456'],
    ['(030) 123 456', '030123456'],
  ])('of the telephone number %j is that of its digits', async (value, digits) => {
    expect(await hashOf(value)).toBe(expected(digits))
  })

  it.each([
    ['192.168.1.10', 'identity'],
    ['001234567', 'staff'],
    ['0017841400000000000', 'identity'],
    ['12 34', 'identity'],
  ] as const)('of %j (%s), which is no telephone number, is that of all its characters', async (value, pii) => {
    expect(await hashOf(value, pii)).toBe(expected(value))
  })

  it('does not exist of an empty text, nor of NULL, which stay apart', async () => {
    expect(await hashOf('')).toBe('')
    expect(await hashOf(' \u00a0')).toBe('')
    expect(await hashOf(null)).toBeNull()
  })
})
