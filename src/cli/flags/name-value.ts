// Flags that give a rate by name: NAME=RATE, or NAME=RATE:PARAM.
import { parseDuration } from '../../core/time.ts'
import { nameIssue, type Param, paramIssue, type Rate, type RateTable } from '../../sandbox/rates.ts'

import { type ReadingDefinition, type Readings, readingIssue } from '../../sandbox/readings.ts'

import { invalidFlag } from './values.ts'

/** A flag that may be given several times; names are those of the table, and `noun` what one of them is called. */
export const rated =
  (flag: string, table: RateTable, noun: string) =>
  (text: string, before: Record<string, Rate> = {}): Record<string, Rate> => {
    const [, name = text, share = '', told] = /^([^=]*)=([^:]*)(?::(.*))?$/.exec(text) ?? []
    const unknown = nameIssue(table, noun, name)
    if (unknown !== undefined) throw invalidFlag(`${flag}: ${unknown}.`, `Give ${flag} NAME=RATE.`)
    const rate = /^\d*\.?\d+$/.test(share) ? Number(share) : Number.NaN
    if (!(rate >= 0 && rate <= 1))
      throw invalidFlag(`${flag} ${text} has no rate.`, `Give ${flag} ${name}=0.1, from 0 to 1.`)
    if (told === undefined) return { ...before, [name]: rate }
    const param = readParam(told, table[name]!.param)
    const wrong = paramIssue(table, name, param)
    if (wrong !== undefined) throw invalidFlag(`${flag} ${text}: ${wrong}.`, `Give ${flag} ${name}=${share}:PARAM.`)
    return { ...before, [name]: { rate, param } }
  }

/** `30s` and `-5m` where milliseconds are asked for; a plain number everywhere. NaN for what is none. */
function readParam(text: string, param: Param | undefined): number {
  if (/^-?\d+$/.test(text)) return Number(text)
  const duration = param?.unit === 'ms' ? parseDuration(text.replace(/^-/, '')) : undefined
  if (duration === undefined) return Number.NaN
  return text.startsWith('-') ? -duration : duration
}

/** `  name   what it is`, a line each. */
export function namesTable(table: Record<string, { help: string }>): string {
  const width = Math.max(...Object.keys(table).map(name => name.length))
  return Object.entries(table)
    .map(([name, { help }]) => `  ${name.padEnd(width)}  ${help}`)
    .join('\n')
}

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
