// The flag that gives a reading by name: NAME=VALUE.
import type { ReadingDefinition, Readings } from '../../sandbox/readings.ts'
import { readingIssue } from '../../sandbox/readings.ts'
import { invalidFlag } from '../flags/values.ts'

/** May be given several times; of one name the last one counts. */
export const readings =
  (flag: string) =>
  (text: string, before: Partial<Readings> = {}): Partial<Readings> => {
    const [, name = text, value = ''] = /^([^=]*)=(.*)$/.exec(text) ?? []
    const issue = readingIssue(name, value)
    if (issue !== undefined) throw invalidFlag(`${flag} ${text}: ${issue}.`, `Give ${flag} NAME=VALUE.`)
    return { ...before, [name]: value }
  }

/** `  name   value, value: what they mean`, a line each. */
export function readingsTable(table: Record<string, ReadingDefinition>): string {
  const width = Math.max(...Object.keys(table).map(name => name.length))
  return Object.entries(table)
    .map(([name, { values, help }]) => `  ${name.padEnd(width)}  ${values.join(', ')}: ${help}`)
    .join('\n')
}
