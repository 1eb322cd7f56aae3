// Parsers of flag values. Each throws FLAG_INVALID with the flag and the values that it accepts.

import { type ListenAddress, parseAddress } from '../../config/address.ts'
import { chosenResources, RESOURCE_NAMES, resourceNames } from '../../config/resources.ts'
import { FOR_SHELL, isForShell } from '../../config/values.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { durationText, parseDuration, parseMoment } from '../../core/time.ts'

export const invalidFlag = (what: string, hint: string): ConvohouseError =>
  new ConvohouseError('FLAG_INVALID', { what, hint })

const unusable = (flag: string, text: string, hint: string): ConvohouseError =>
  invalidFlag(`${flag} cannot be ${JSON.stringify(text)}.`, hint)

interface Bounds {
  min: number
  max?: number
  whole?: boolean
}

/** Parses a number within bounds. */
export const number =
  (flag: string, { min, max = Number.MAX_SAFE_INTEGER, whole = false }: Bounds) =>
  (text: string): number => {
    const value = /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max && (!whole || Number.isInteger(value))) return value
    const kind = whole ? 'a whole number' : 'a number'
    const bounds = max === Number.MAX_SAFE_INTEGER ? `of ${min} or more` : `from ${min} to ${max}`
    throw unusable(flag, text, `Give ${kind} ${bounds}.`)
  }

export const whole = (flag: string, min: number, max?: number) =>
  number(flag, { min, whole: true, ...(max !== undefined && { max }) })

/** Parses `15m` to ms; with `bare`, also a plain number in units of `bare` ms. */
export const duration =
  (flag: string, { min, max = Number.POSITIVE_INFINITY, bare }: { min: number; max?: number; bare?: number }) =>
  (text: string): number => {
    const ms = bare !== undefined && /^\d+$/.test(text) ? Number(text) * bare : parseDuration(text)
    if (ms === undefined) throw unusable(flag, text, 'Give a duration such as 90s, 15m, 2h or 1d.')
    if (ms < min) throw unusable(flag, text, `Give at least ${durationText(min)}.`)
    if (ms > max) throw unusable(flag, text, `Give at most ${durationText(max)}.`)
    return ms
  }

/** Parses a date, a time, an epoch or an age to ms since the epoch. */
export const moment =
  (flag: string) =>
  (text: string): number => {
    const ms = parseMoment(text, Date.now())
    if (ms !== undefined) return ms
    throw unusable(
      flag,
      text,
      'Give a date such as 2026-01-31, a time such as 2026-01-31T08:00Z, or an age such as 90d.',
    )
  }

/** Parses one of a few words. */
export const oneOf =
  <W extends string>(flag: string, words: readonly W[]) =>
  (text: string): W => {
    const word = words.find(known => known === text)
    if (word !== undefined) return word
    throw unusable(flag, text, `Give one of ${words.join(', ')}.`)
  }

/** Parses a non-empty text. */
export const filled =
  (flag: string) =>
  (text: string): string => {
    if (text.trim() !== '') return text
    throw unusable(flag, text, 'Give a value.')
  }

/** Parses the path of a file or folder to write. Shells replace no `~` in `--output=~/file`. */
export const newPath =
  (flag: string) =>
  (text: string): string => {
    if (isForShell(text)) throw unusable(flag, text, `The path ${FOR_SHELL}.`)
    return filled(flag)(text)
  }

/** Parses a repeatable flag. */
export const repeated =
  (flag: string) =>
  (text: string, before: string[] = []): string[] => [...before, filled(flag)(text)]

/** Parses an address such as `127.0.0.1:9464`. */
export const listenAddress =
  (flag: string) =>
  (text: string): ListenAddress => {
    const address = parseAddress(text)
    if (address) return address
    throw unusable(flag, text, 'Give a host and a port, such as 127.0.0.1:9464.')
  }

export const metricsAddress = listenAddress('--telemetry')

/** Parses `all`, `none`, or names of API resources. */
export const resources =
  (flag: string) =>
  (text: string): readonly string[] => {
    const names = text.split(',').map(name => name.trim())
    const { data } = resourceNames.safeParse(text === 'all' || text === 'none' ? text : names)
    if (data === undefined) throw unusable(flag, text, `Give all, none, or some of ${RESOURCE_NAMES.join(', ')}.`)
    return chosenResources(data)
  }
