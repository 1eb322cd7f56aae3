// A page as its YAML declares it: figures, what changed, tiles.
import type { ListedMetric } from '../api/metrics.ts'
import { type Page, type ShowTile, type Tile as TileSpec, useMay } from '../api/pages.ts'
import { Changes } from '../parts/changes.tsx'
import { Figures } from '../parts/figures.tsx'
import { MetricsTile } from '../parts/metrics-tile.tsx'
import { SqlTile } from '../parts/sql-tile.tsx'
import { Failed, Guarded } from '../parts/states.tsx'
import { TableTile } from '../parts/table-tile.tsx'
import { BeforeAfter } from './before-after.tsx'
import { Quota } from './quota.tsx'
import { Waiting } from './waiting.tsx'

interface ShownProps {
  spec: ShowTile
  id: string
  metrics: Metrics
}

/** Tiles that only code can draw. */
const SHOWN: Partial<Record<ShowTile['show'], (props: ShownProps) => preact.JSX.Element>> = {
  'before-after': BeforeAfter,
  quota: Quota,
  waiting: Waiting,
}

type Metrics = ReadonlyMap<string, ListedMetric>

const known = (names: readonly string[], metrics: Metrics) => names.flatMap(name => metrics.get(name) ?? [])

export function DeclaredPage({ page, metrics }: { page: Page; metrics: Metrics }) {
  return (
    <>
      <Guarded>{page.figures.length > 0 && <Figures metrics={known(page.figures, metrics)} />}</Guarded>
      <Guarded>
        {page.changes && <Changes metrics={known(page.changes.metrics, metrics)} by={page.changes.by} />}
      </Guarded>
      <div class="tiles">
        {page.tiles.map((tile, at) => (
          <Guarded key={tile.title}>
            <AnyTile tile={tile} id={String(at + 1)} metrics={metrics} />
          </Guarded>
        ))}
      </div>
    </>
  )
}

function AnyTile({ tile, id, metrics }: { tile: TileSpec; id: string; metrics: Metrics }) {
  const maySql = useMay('sql')
  const mayContent = useMay('content')
  if (tile.kind === 'show') {
    const Shown = SHOWN[tile.show]
    return Shown ? <Shown spec={tile} id={id} metrics={metrics} /> : null
  }
  if (tile.kind === 'sql') return maySql ? <SqlTile spec={tile} id={id} /> : null
  const asked = known(tile.metrics, metrics)
  if (asked.length < tile.metrics.length) {
    const missing = tile.metrics.filter(name => !metrics.has(name))
    const problem = {
      code: 'METRIC_UNKNOWN',
      what: `There is no metric ${missing.join(', ')}.`,
      hint: '`convohouse check` says why.',
    }
    return <Failed problem={problem} again={() => location.reload()} />
  }
  // Splits by people are not for every token, as tiles in SQL are not.
  const split = tile.kind === 'table' ? tile.table : tile.split
  const isKnown = asked.every(({ dimensions }) => !split || dimensions.some(({ name }) => name === split))
  if (!isKnown && !mayContent) return null
  return tile.kind === 'table' ? (
    <TableTile spec={tile} id={id} metrics={asked} />
  ) : (
    <MetricsTile spec={tile} id={id} metrics={asked} />
  )
}
