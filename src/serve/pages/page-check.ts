// The check of a page of the user, for `convohouse check`.
import { quoteName } from '../../catalog/layout.ts'
import type { Metric } from '../../metrics/declaration.ts'
import { isOfHours } from '../../metrics/periods.ts'
import { metricNamed } from '../../metrics/request.ts'
import type { Check } from '../../warehouse/checks/declaration.ts'
import type { ReadPage } from '../pages.ts'
import type { Tile, TileOf } from './page-format.ts'

/** Returns SQL without rows that has DuckDB compute the tile's columns; those of `y` must be numbers. */
function computed({ sql, x, y = [], by }: TileOf<'sql'>): string {
  const named = [x, by].flatMap(column => (column === undefined ? [] : `count(${quoteName(column)})`))
  const values = ['count(*)', ...named, ...y.map(column => `sum(${quoteName(column)})`)]
  const select = sql.replace(/[;\s]+$/, '').replace(/\$(from|to)\b/g, `'2026-01-01'`)
  return `SELECT (${values.join(', ')}) IS NULL AS is_wrong FROM (${select}\n) HAVING false`
}

function sqlOf(tile: Tile, metrics: readonly Metric[]): string[] {
  if (tile.kind === 'sql') return [computed(tile)]
  if (tile.kind !== 'metrics' || tile.grain === 'auto' || !isOfHours(tile.grain)) return []
  const marts = tile.metrics.map(name => metricNamed(metrics, name).mart)
  return marts.map(mart => `SELECT local_hour IS NULL FROM marts.${mart} WHERE false`)
}

/** Returns a check that the page can be shown: its metrics exist, and DuckDB can compute its SQL. */
export const checkOf = ({ name, page, problem }: ReadPage, metrics: readonly Metric[]): Check => ({
  name: `page_${name}`,
  about: `The page ${name} can be shown.`,
  severity: 'error',
  blocks: false,
  table: '',
  key: [],
  sql: ['SELECT false AS is_wrong WHERE false', ...(page?.tiles ?? []).flatMap(tile => sqlOf(tile, metrics))].join(
    '\nUNION ALL ',
  ),
  isOwn: true,
  ...(problem !== undefined && { problem }),
})
