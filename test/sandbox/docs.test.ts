import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { FAULTS } from '../../src/sandbox/faults/fault-settings.ts'
import { HOSTILE } from '../../src/sandbox/hostile/mutations.ts'
import { LITERAL, READINGS } from '../../src/sandbox/readings.ts'
import { EVENT_FAULTS } from '../../src/sandbox/webhooks/webhook-settings.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/sandbox.md'), 'utf8')

/** Rows of the table below that heading, as cells. */
function rowsBelow(heading: string): string[][] {
  const section = page.split(`## ${heading}\n`)[1]!.split('\n## ')[0]!
  const rows = section.split('\n').filter(line => line.startsWith('| `'))
  return rows.map(row =>
    row
      .slice(1, -1)
      .split('|')
      .map(cell => cell.trim()),
  )
}

describe('docs/sandbox.md', () => {
  it('lists every fault, and no other', () => {
    const listed = Object.entries(FAULTS).map(([name, { stage, search, help }]) => [
      `\`${name}\``,
      stage,
      search ? 'yes' : '',
      help,
    ])
    expect(rowsBelow('Faults').toSorted()).toEqual(listed.toSorted())
  })

  it('lists every event fault, in order', () => {
    expect(rowsBelow('Event faults')).toEqual(
      Object.entries(EVENT_FAULTS).map(([name, { help }]) => [`\`${name}\``, help]),
    )
  })

  it('lists every kind of hostile record, in order', () => {
    expect(rowsBelow('Hostile records')).toEqual(
      Object.entries(HOSTILE).map(([name, { help }]) => [`\`${name}\``, help]),
    )
  })

  it('lists every reading, in order, with the default first', () => {
    const quoted = (words: readonly string[]) => words.map(word => `\`${word}\``).join(', ')
    expect(rowsBelow('Readings')).toEqual(
      Object.entries(READINGS).map(([name, { values, help }]) => [`\`${name}\``, quoted(values), help]),
    )
  })

  it('lists the readings of literal mode', () => {
    expect(rowsBelow('Literal mode')).toEqual(Object.entries(LITERAL).map(pair => pair.map(text => `\`${text}\``)))
  })
})
