// Cron expressions of five fields, by the rules of Temporal's server: lists, ranges, steps, and names of months and days.

interface Field {
  min: number
  max: number
  /** Names of the values from `min` on, which may be cut off after `letters` letters. */
  names?: readonly string[]
  letters?: number
}

const MONTHS = 'january february march april may june july august september october november december'.split(' ')
const DAYS = 'sunday monday tuesday wednesday thursday friday saturday'.split(' ')

const FIELDS: readonly Field[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: MONTHS, letters: 3 },
  { min: 0, max: 7, names: DAYS, letters: 2 },
]

function numberOf(text: string, { min, max, names = [], letters = 0 }: Field): number {
  const name = text.length < letters ? -1 : names.findIndex(one => one.startsWith(text.toLowerCase()))
  const value = names.length > 0 && name >= 0 ? min + name : /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN
  return value >= min && value <= max ? value : Number.NaN
}

function isPart(part: string, field: Field): boolean {
  const [range = '', step, ...more] = part.split('/')
  if (more.length > 0 || (step !== undefined && !/^0*[1-9]\d{0,5}$/.test(step))) return false
  if (range === '*') return true
  const [from = '', to = from, ...others] = range.split('-')
  return others.length === 0 && numberOf(from, field) <= numberOf(to, field)
}

/** True for an expression that Temporal's server accepts. */
export function isCron(text: string): boolean {
  const fields = text.trim().split(/\s+/)
  return (
    fields.length === FIELDS.length &&
    fields.every((field, at) => field.split(',').every(part => isPart(part, FIELDS[at]!)))
  )
}
