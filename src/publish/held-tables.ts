// Which tables a target lacks after a publication, because checks that block them fail.
import type { Changes } from '../warehouse/changes/read-changes.ts'
import type { Selection } from './selection.ts'

export interface Lack {
  /** Tables of records that the target has in an earlier state, with their child tables. */
  held: readonly string[]
  /** Of these, the tables that have no rows in it. */
  empty: readonly string[]
}

export const NO_LACK: Lack = { held: [], empty: [] }

/**
 * What a target lacks after `changes` (null: a refill), of which it lacked `before`. A blocked table that has not changed since the target
 * received it is not among them.
 */
export function lackAfter({ blocked }: Pick<Selection, 'blocked'>, changes: Changes | null, before: Lack): Lack {
  if (changes === null) return { held: blocked, empty: blocked }
  const changed = new Set(changes.tables.map(({ published }) => published.table))
  const held = blocked.filter(table => changed.has(table) || before.held.includes(table))
  return { held, empty: held.filter(table => before.empty.includes(table)) }
}
