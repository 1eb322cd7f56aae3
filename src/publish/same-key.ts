// SQL conditions by which rows are found by their keys.
import { quoteName } from '../catalog/layout.ts'

/** Rows of the tables `a` and `b` have the same key. */
export const sameKey = (key: readonly string[], a: string, b: string): string =>
  key.map(name => `${a}.${quoteName(name)} = ${b}.${quoteName(name)}`).join(' AND ')

/**
 * A row of `t` has one of the keys of the table `keys`. `(…) IN (SELECT …)` takes half as long again, since DuckDB compares the first columns with
 * constants for each row.
 */
export const hasKeyOf = (keys: string, key: readonly string[]): string =>
  `EXISTS (FROM ${keys} k WHERE ${sameKey(key, 't', 'k')})`
