// Times as texts: inspection and SQL parse them by the same rule. The corpus has them in every field (`moments`,
// `times-that-cannot-be-read`).
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { momentIn } from '../../src/core/time.ts'
import { temporaryWarehouse } from './temporary-warehouse.ts'

const app = temporaryWarehouse()

/** A text, and its time in microseconds since the epoch; null if it is not a time. */
interface TimeText {
  text: string
  micros: bigint | null
}

const at = (ms: number, micros = 0): bigint => BigInt(ms) * 1_000n + BigInt(micros)

const MOMENTS: TimeText[] = [
  { text: '2026-01-15', micros: at(Date.UTC(2026, 0, 15)) },
  { text: '1900-02-28', micros: at(Date.UTC(1900, 1, 28)) },
  { text: '2024-02-29T23:59:59Z', micros: at(Date.UTC(2024, 1, 29, 23, 59, 59)) },
  { text: '2150-12-31 10:00', micros: at(Date.UTC(2150, 11, 31, 10)) },
  { text: '2026-01-15T10:00:00', micros: at(Date.UTC(2026, 0, 15, 10)) },
  { text: '2026-01-15T10:00:00.5Z', micros: at(Date.UTC(2026, 0, 15, 10, 0, 0, 500)) },
  { text: '2026-01-15T10:00:00.123456', micros: at(Date.UTC(2026, 0, 15, 10, 0, 0, 123), 456) },
  { text: '2026-01-15 10:00:00.123456789', micros: at(Date.UTC(2026, 0, 15, 10, 0, 0, 123), 456) },
  { text: '2026-01-15T10:00:00+14:00', micros: at(Date.UTC(2026, 0, 14, 20)) },
  { text: '2026-01-15 10:00-0030', micros: at(Date.UTC(2026, 0, 15, 10, 30)) },
  { text: '2026-01-15T10:00:00.123456-05', micros: at(Date.UTC(2026, 0, 15, 15, 0, 0, 123), 456) },
  { text: '2026-07-15T10:00+0545', micros: at(Date.UTC(2026, 6, 15, 4, 15)) },
  { text: '1000000000', micros: at(1_000_000_000_000) },
  { text: '1763600000123', micros: at(1_763_600_000_123) },
  { text: '1763600000123456', micros: at(1_763_600_000_123, 456) },
]

const NO_MOMENTS = [
  '2026-01-15 10:00:00 PST',
  '2026-01-15 10:00:00 EST',
  '2026-01-15T10:00:00 America/New_York',
  '2026-07-15 10:00:00 Europe/Berlin',
  '2026-01-15 10:00:00 UTC',
  '2026-01-15 10:00:00 GMT+3',
  '2026-01-15T10:00:00Asia/Kolkata',
  '2026-01-15T10:00:00[Asia/Tokyo]',
  '2026-01-15T10:00:00+01:00[Europe/Paris]',
  '2026',
  '20260115',
  '5',
  '0',
  '-1',
  '14.30',
  '1_000',
  '1_767_225_600',
  '1e12',
  '0x5f5e1000',
  '123456789',
  '0000000005',
  '12345678901234567',
  '99999999999999999999',
  '2026-02-30',
  '2026-13-01T00:00:00Z',
  '2026-00-10',
  '2026-01-15T24:00:00',
  '2026-01-15T10:61:00Z',
  '2026-01-15T10:00:60Z',
  '2026-01-15T10:00:00+25:00',
  '2026-01',
  '2026-W03-4',
  '2026-015',
  '2026-1-5',
  '15/01/2026',
  'infinity',
  '-infinity',
  'epoch',
  'now',
  'today',
  'next week',
  '2026-01-15 (BC)',
  '2026-01-15T10:00:00Z\n',
  ' 2026-01-15',
  'NaN',
  'Infinity',
  '٢٠٢٦-٠١-١٥',
]
const TEXTS = [...MOMENTS, ...NO_MOMENTS.map((text): TimeText => ({ text, micros: null }))]

/** Returns the time that SQL reads from each text, µs. */
const parsed = (texts: readonly string[]) =>
  app.warehouse.writer.rows<{ text: string; micros: string | null }>(
    `SELECT x AS text, epoch_us(parse_moment(x))::VARCHAR AS micros FROM (SELECT unnest(from_json($texts::JSON, '["VARCHAR"]')) AS x)`,
    { texts: JSON.stringify(texts) },
  )

it('a text is parsed by itself: no row influences another', async () => {
  const expected = TEXTS.map(({ text, micros }) => ({ text, micros: micros === null ? null : String(micros) }))
  expect(await parsed(TEXTS.map(({ text }) => text))).toEqual(expected)
})

it('inspection accepts a text as a time exactly if SQL can parse it', async () => {
  const characters = fc.constantFrom(...'0123456789-:.+TZ tz_eP')
  const text = fc.oneof(
    fc.string({ unit: characters, maxLength: 28 }),
    fc
      .tuple(fc.constantFrom(...TEXTS.map(({ text }) => text)), fc.nat(40), characters)
      .map(([sent, place, one]) => sent.slice(0, place) + one + sent.slice(place + 1)),
  )
  const drawn = fc.sample(text, { numRuns: 2_000, seed: 14 })
  for (const { text, micros } of await parsed([...TEXTS.map(({ text }) => text), ...drawn]))
    expect([text, momentIn(text) !== null]).toEqual([text, micros !== null])
})
