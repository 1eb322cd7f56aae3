import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ConvohouseError, ERRORS, type ErrorCode, EXIT_CODES } from '../../src/core/errors.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/errors.md'), 'utf8')

/** The cells of the table rows that begin with a code span. */
const rows = page.split('\n').flatMap(line => {
  const cells = line.split('|').slice(1, -1)
  return /^ `[^`]+` $/.test(cells[0] ?? '') ? [cells.map(cell => cell.trim().replaceAll('`', ''))] : []
})
const isConstant = (name: string): boolean => /^[A-Z][A-Z_]+$/.test(name)
const errorRows = rows.filter(([name]) => isConstant(name!))
const exitRows = rows.filter(([name]) => !isConstant(name!))

describe('docs/errors.md', () => {
  it('documents every code once, in the order of the table of errors, and no others', () => {
    expect(errorRows.map(([code]) => code)).toEqual(Object.keys(ERRORS))
  })

  it('gives each code its title and exit code', () => {
    const documented = errorRows.map(([code, exitCode, title]) => [code, Number(exitCode), title])
    expect(documented).toEqual(Object.entries(ERRORS).map(([code, { exitCode, title }]) => [code, exitCode, title]))
  })

  it('says for each code what to do', () => {
    for (const [code, , , remedy] of errorRows) expect(remedy, code).toMatch(/^.{10,}\.$/)
  })

  it('lists every exit code and no others', () => {
    const documented = exitRows.map(([exitCode, name]) => [name, Number(exitCode)])
    expect(documented).toEqual(Object.entries(EXIT_CODES))
  })
})

describe('an error', () => {
  it.each(Object.keys(ERRORS) as ErrorCode[])('%s ends the process with a documented exit code', code => {
    const { exitCode } = new ConvohouseError(code, { what: 'Something.' })
    expect(Object.values(EXIT_CODES)).toContain(exitCode)
    expect(exitCode).not.toBe(EXIT_CODES.ok)
    expect(exitCode).not.toBe(EXIT_CODES.unexpected)
  })

  it('is transient because of its code, never because of its text', () => {
    expect(new ConvohouseError('API_TIMEOUT', { what: 'It failed for good.' }).kind).toBe('transient')
    expect(new ConvohouseError('API_FORBIDDEN', { what: 'Try again later.' }).kind).toBe('access')
  })
})
