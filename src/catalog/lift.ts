// Columns lifted out of JSON whose shape the API document leaves open: the first of some keys that holds a scalar.
import type { Lift } from './shape.ts'

/** SQL types of lifted columns. */
export const LIFT_TYPES = {
  text: 'VARCHAR',
  count: 'BIGINT',
  number: 'DOUBLE',
  time: 'TIMESTAMPTZ',
  position: 'INTEGER',
  json: 'JSON',
} as const

/** SQL of the text of a lifted value as the lift's type. */
export function typedLift({ type }: Lift, text: string): string {
  switch (type) {
    case 'text':
      return text
    case 'count':
      return `parse_count(${text})`
    case 'number':
      return `parse_number(${text})`
    case 'time':
      return `parse_moment(${text})`
    case 'position':
      return `TRY_CAST(${text} AS INTEGER)`
    case 'json':
      return `${text}::JSON`
  }
}

const scalarIn = (json: string): string =>
  `CASE WHEN left((${json})::VARCHAR, 1) NOT IN ('{', '[', 'n') THEN ${json}->>'$' END`

/** SQL of a column that is lifted out of the JSON in `sql`, which is an object, or itself a scalar. */
export function liftedFrom(lift: Lift, sql: string): string {
  const found = lift.keys.map(key => scalarIn(`(${sql}->'$.${key}')`))
  return typedLift(lift, `coalesce(${[...found, lift.orSelf ? scalarIn(sql) : 'NULL'].join(', ')})`)
}
