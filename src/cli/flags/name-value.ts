// Repeatable flags with a name: NAME=RATE, NAME=RATE:PARAM, and NAME=VALUE; and the tables of names in their help.
import { parseDuration } from '../../core/time.ts'
import { nameIssue, type Param, paramIssue, type Rate, type RateTable } from '../../sandbox/rates.ts'

import { type ReadingDefinition, type Readings, readingIssue } from '../../sandbox/readings.ts'

import { invalidFlag } from './values.ts'

/** A repeatable flag NAME=RATE[:PARAM]. `table` has the names; `noun` names one in messages. */
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

/** A plain number, or a duration such as `30s` or `-5m` if the parameter is in milliseconds; else NaN. */
function readParam(text: string, param: Param | undefined): number {
  if (/^-?\d+$/.test(text)) return Number(text)
  const duration = param?.unit === 'ms' ? parseDuration(text.replace(/^-/, '')) : undefined
  if (duration === undefined) return Number.NaN
  return text.startsWith('-') ? -duration : duration
}

/** One line `  name   help` per name. */
export function namesTable(table: Record<string, { help: string }>): string {
  const width = Math.max(...Object.keys(table).map(name => name.length))
  return Object.entries(table)
    .map(([name, { help }]) => `  ${name.padEnd(width)}  ${help}`)
    .join('\n')
}

/** A repeatable flag NAME=VALUE; the last value of a name wins. */
export const readings =
  (flag: string) =>
  (text: string, before: Partial<Readings> = {}): Partial<Readings> => {
    const [, name = text, value = ''] = /^([^=]*)=(.*)$/.exec(text) ?? []
    const issue = readingIssue(name, value)
    if (issue !== undefined) throw invalidFlag(`${flag} ${text}: ${issue}.`, `Give ${flag} NAME=VALUE.`)
    return { ...before, [name]: value }
  }

/** One line `  name   value, value: help` per name. */
export function readingsTable(table: Record<string, ReadingDefinition>): string {
  const width = Math.max(...Object.keys(table).map(name => name.length))
  return Object.entries(table)
    .map(([name, { values, help }]) => `  ${name.padEnd(width)}  ${values.join(', ')}: ${help}`)
    .join('\n')
}
