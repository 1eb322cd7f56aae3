import fc from 'fast-check'
import stringWidth from 'string-width'
import { describe, expect, it } from 'vitest'
import { type TableOptions, table } from '../../../src/cli/output/table.ts'
import { cut, layOut } from '../../../src/cli/terminal/columns.ts'
import { visible } from '../../../src/cli/terminal/controls.ts'
import { runQuery } from '../../../src/warehouse/query/query.ts'
import { databaseOfFile } from '../../of-file.ts'

const connection = await databaseOfFile()

async function draw(sql: string, options: TableOptions & { maxRows?: number } = {}): Promise<string> {
  const { maxRows = 100_000, ...rest } = options
  let text = ''
  for await (const piece of table(await runQuery({ connection, sql, timeoutMs: 20_000, maxRows }), rest)) text += piece
  return text
}

describe('a table', () => {
  it('aligns numbers right and text left, under a header', async () => {
    expect(await draw("SELECT * FROM (VALUES (1, 'a', 1.5), (100, 'bcd', NULL)) v(n, text, d) ORDER BY n")).toBe(
      ['  n  text     d', '───  ────  ────', '  1  a      1.5', '100  bcd   NULL', '(2 rows)', ''].join('\n'),
    )
  })

  it('dims NULL and emphasizes the header if colours are enabled', async () => {
    const text = await draw('SELECT NULL::VARCHAR AS a', { color: true })
    expect(text).toContain('\u001b[2mNULL\u001b[0m')
    expect(text).toContain('\u001b[1ma')
    expect(await draw('SELECT NULL AS a')).not.toContain('\u001b')
  })

  it('truncates long text to the width of the terminal, but no numbers', async () => {
    const sql = "SELECT 1234567890123 AS n, repeat('x', 300) AS long, 'short' AS s"
    const lines = (await draw(sql, { width: 60 })).split('\n')
    expect(lines[2]).toMatch(/^1234567890123 {2}x+… {2}short$/)
    for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(60)
    expect(await draw(sql)).toContain('x'.repeat(300))
  })

  it('counts the columns that do not fit, and says that there are more rows', async () => {
    const many = `SELECT ${Array.from({ length: 40 }, (_, at) => `'some text' AS c${at}`).join(', ')} FROM range(5)`
    const text = await draw(many, { width: 80, maxRows: 3 })
    expect(text).toMatch(/\(3 rows; there are more.*; 32 more columns/)
  })

  it('aligns wide characters', async () => {
    const [, , first, second] = (await draw("FROM (VALUES ('日本', 'x'), ('ab', 'y')) v(a, b)")).split('\n')
    expect(stringWidth(first!.split('x')[0]!)).toBe(stringWidth(second!.split('y')[0]!))
  })

  it('escapes control characters instead of sending them to the terminal', async () => {
    const text = await draw("SELECT 'a' || chr(27) || '[2J' || chr(10) || chr(155) || chr(8238) AS message")
    expect(text).toContain('a\\u001b[2J\\n\\u009b\\u202e')
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), any => {
        expect(visible(any)).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u)
      }),
    )
  })

  it('streams rows beyond those that determine its layout', async () => {
    const text = await draw("SELECT range AS n, 'x' AS t FROM range(12345) ORDER BY n")
    expect(text.split('\n')).toHaveLength(12_345 + 4)
    expect(text.endsWith('(12,345 rows)\n')).toBe(true)
  })

  it('has a header even without rows', async () => {
    expect(await draw('SELECT 1 AS one WHERE false')).toBe('one\n───\n(0 rows)\n')
  })
})

describe('a layout', () => {
  const columns = fc.array(fc.record({ natural: fc.integer({ min: 1, max: 300 }), rigid: fc.boolean() }), {
    minLength: 1,
  })

  it('fits the terminal, shows as much as possible, and truncates no number', () => {
    fc.assert(
      fc.property(columns, fc.integer({ min: 20, max: 400 }), (columns, terminal) => {
        const { widths, hidden } = layOut(columns, terminal)
        const used = widths.reduce((sum, width) => sum + width, 2 * (widths.length - 1))
        expect(widths.length + hidden).toBe(columns.length)
        // A lone column of numbers may be wider than the terminal.
        if (widths.length > 1 || !columns[0]!.rigid) expect(used).toBeLessThanOrEqual(terminal)
        for (const [at, width] of widths.entries()) {
          if (columns[at]!.rigid) expect(width).toBe(columns[at]!.natural)
          else expect(width).toBeLessThanOrEqual(columns[at]!.natural)
        }
      }),
    )
  })
})

describe('truncated text', () => {
  it('is never wider than allowed, nor cut inside a character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 20 }), (text, width) => {
        const shown = cut(text, width)
        expect(stringWidth(shown)).toBeLessThanOrEqual(width)
        expect(shown === text || text.startsWith(shown.slice(0, -1))).toBe(true)
      }),
    )
    expect(cut('👩‍👩‍👧 family', 4)).toBe('👩‍👩‍👧 …')
  })
})
