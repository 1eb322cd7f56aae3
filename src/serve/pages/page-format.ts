// The format of a page: YAML that names metrics, or SELECTs with a small specification of a chart. docs/dashboard.md explains it.
import { z } from 'zod'
import { DIMENSIONS, type DimensionName } from '../../metrics/dimensions.ts'
import { metricsRequest } from '../../metrics/request.ts'

const ICONS = ['grid', 'star', 'clock', 'people', 'coins', 'funnel', 'tag', 'chat', 'code', 'pulse', 'page'] as const
const PAGE_GRAINS = ['auto', 'hour', 'day', 'week', 'month', 'weekday', 'local_hour', 'weekday_hour'] as const

const sentence = z.string().trim().min(1).max(200)
const dimension = z.enum(Object.keys(DIMENSIONS) as DimensionName[])
const name = z.string().min(1).max(63)
const top = z.int().min(1).max(50)

const anyTile = {
  title: sentence,
  width: z.enum(['half', 'full']).default('half'),
  /** A sentence of advice or reading help. */
  below: sentence.optional(),
}

const { filters } = metricsRequest.shape

const TILES = {
  metrics: z
    .strictObject({
      ...anyTile,
      metrics: z.array(name).min(1).max(6),
      chart: z.enum(['bars', 'line', 'share', 'heat', 'ranking']),
      split: dimension.optional(),
      top: top.default(6),
      grain: z.enum(PAGE_GRAINS).default('auto'),
      filters,
      /** True if a ranking begins with the lowest value. */
      lowest: z.boolean().optional(),
      /** True if changes of agents are drawn. */
      marks: z.boolean().optional(),
    })
    .superRefine(({ chart, split, metrics, grain, lowest, marks }, { addIssue }) => {
      const refuse = (path: string, message: string) => addIssue({ code: 'custom', path: [path], message })
      if (split !== undefined && metrics.length > 1) refuse('split', 'is for one metric only')
      if (split === undefined && ['share', 'ranking'].includes(chart)) refuse('split', `a ${chart} needs one`)
      if (chart === 'heat' && (split !== undefined || metrics.length > 1))
        refuse('chart', 'heat shows one metric, without a split')
      if (chart === 'heat' ? !['auto', 'weekday_hour'].includes(grain) : grain === 'weekday_hour')
        refuse('grain', 'weekday_hour is that of heat, and of no other chart')
      if (lowest && chart !== 'ranking') refuse('lowest', 'is for a ranking only')
      if (marks && chart !== 'line') refuse('marks', 'are drawn on lines only')
    })
    .transform(tile => ({
      ...tile,
      grain: tile.chart === 'heat' ? ('weekday_hour' as const) : tile.grain,
      marks: tile.marks ?? tile.chart === 'line',
    })),
  table: z.strictObject({
    ...anyTile,
    /** Dimension of the rows. */
    table: dimension,
    metrics: z.array(name).min(1).max(8),
    top: top.default(50),
    filters,
  }),
  sql: z
    .strictObject({
      ...anyTile,
      sql: z.string().trim().min(1).max(20_000),
      chart: z.enum(['bars', 'line', 'table']).default('table'),
      x: name.optional(),
      y: z.array(name).min(1).max(6).optional(),
      by: name.optional(),
    })
    .superRefine(({ sql, chart, x, y, by }, { addIssue }) => {
      const refuse = (path: string, message: string) => addIssue({ code: 'custom', path: [path], message })
      if (chart !== 'table' && !x) refuse('x', `${chart} need a column for the axis`)
      if (chart !== 'table' && !y) refuse('y', `${chart} need columns of numbers`)
      if (by !== undefined && (y?.length ?? 0) > 1) refuse('by', 'is for one column `y` only')
      const other = [...sql.matchAll(PARAMETERS)].find(([, one]) => one !== 'from' && one !== 'to')
      if (other) refuse('sql', `has the parameter ${other[0]}; there are $from and $to`)
    })
    .transform(tile => ({ ...tile, params: (['from', 'to'] as const).filter(one => usesParam(tile.sql, one)) })),
  show: z.strictObject({ ...anyTile, show: z.enum(['before-after', 'waiting', 'quota']) }),
} as const

type Kind = keyof typeof TILES

const PARAMETERS = /\$([a-z]\w*)/gi

const usesParam = (sql: string, param: string): boolean =>
  [...sql.matchAll(PARAMETERS)].some(([, one]) => one === param)

/** A tile is of the kind whose key it has. `metrics` comes last, since tables have it too. */
const KINDS: readonly Kind[] = ['table', 'sql', 'show', 'metrics']

export type TileOf<K extends Kind> = z.output<(typeof TILES)[K]> & { kind: K }

export type Tile = { [K in Kind]: TileOf<K> }[Kind]

const tile = z.record(z.string(), z.unknown()).transform((given, { issues }): Tile => {
  const kind = KINDS.find(one => one in given) ?? 'metrics'
  const result = TILES[kind].safeParse(given)
  if (result.success) return { kind, ...result.data } as Tile
  for (const { path, message } of result.error.issues) issues.push({ code: 'custom', input: given, path, message })
  return z.NEVER
})

export const pageFormat = z.strictObject({
  title: z.string().trim().min(1).max(60),
  /** The question of the page. */
  about: sentence,
  icon: z.enum(ICONS).default('page'),
  order: z.int().min(0).max(10_000).default(100),
  figures: z.array(name).max(5).default([]),
  /** Metrics whose changes against the period before are explained, by these dimensions. */
  changes: z
    .strictObject({ metrics: z.array(name).min(1).max(4), by: z.array(dimension).min(1).max(3) })
    .nullable()
    .default(null),
  tiles: z.array(tile).max(24).default([]),
})

export type DeclaredPage = z.output<typeof pageFormat>

export interface Page extends DeclaredPage {
  /** Name in the address. */
  name: string
  /** True for a page of the user. */
  isOwn: boolean
}
