// Child tables made from values of unknown shape: how their elements or entries become rows.
import type { Lift, Unnest } from './shape.ts'

/** A column: the first of these keys that holds a scalar. */
export const lift = (
  column: string,
  type: Lift['type'],
  keys: readonly string[],
  about: string,
  more?: Partial<Lift>,
): Lift => ({
  column,
  type,
  keys,
  about,
  pii: 'none',
  ...more,
})

/** A row for each element of an array. */
export const elements = (table: string, about: string, lifted: readonly Lift[]): Unnest => ({
  table,
  over: 'elements',
  about,
  pii: 'content',
  lift: lifted,
})

/** A row for each entry of an object. */
export const entries = (table: string, keyColumn: string, about: string, lifted: readonly Lift[]): Unnest => ({
  table,
  over: 'entries',
  keyColumn,
  about,
  pii: 'content',
  lift: lifted,
})
