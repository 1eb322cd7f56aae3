// A tile of a user's page whose rows come from a SELECT; `$from` and `$to` are the days of the page's period.
import { useMemo } from 'preact/hooks'
import { postJson } from '../api/client.ts'
import { usePeriodDays } from '../api/metrics.ts'
import type { SqlTile as Spec } from '../api/pages.ts'
import { following, useAnswer } from '../api/resource.ts'
import { QuickChart } from '../charts/quick-chart.tsx'
import { countText } from '../format/values.ts'
import { period } from '../state/period.ts'
import { resultTable, type SqlAnswer } from './result-table.tsx'
import { Answered, Empty } from './states.tsx'
import { DataTable } from './table.tsx'
import { Tile } from './tile.tsx'

const MOST_ROWS = 1_000

export function SqlTile({ spec, id }: { spec: Spec; id: string }) {
  const whole = usePeriodDays(period.value)
  const days = whole.data
  const usesDays = spec.params.length > 0
  const params = usesDays && days ? Object.fromEntries(spec.params.map(name => [name, days[name]])) : undefined
  const body = { sql: spec.sql, maxRows: MOST_ROWS, ...(params && { params }) }
  const key = usesDays && !days ? null : `sql ${JSON.stringify(body)}`
  const given = useAnswer(key, () => postJson<SqlAnswer>('v1/query', body))
  const answer = usesDays ? following(whole, given) : given
  const table = useMemo(() => answer.data && resultTable(answer.data), [answer.data])
  return (
    <Tile
      {...spec}
      {...{ id, table }}
      subtitle={spec.x && [spec.y?.join(', '), `by ${spec.x}`, spec.by].filter(Boolean).join(' · ')}
      isDrawn={spec.chart !== 'table'}
    >
      <Answered answer={answer} height={240}>
        {({ rows, truncated }) => {
          if (rows.length === 0) return <Empty>The query found no rows in this period.</Empty>
          const { title, chart, x, y = [], by } = spec
          const isTable = chart === 'table' || !x
          return (
            <>
              {truncated && <p class="note doubt">Only the first {countText(MOST_ROWS)} rows: the query finds more.</p>}
              {isTable ? (
                <DataTable caption={title} {...table!} sort={`sort-${id}`} />
              ) : (
                <QuickChart {...{ title, rows, chart, x, y, by }} />
              )}
            </>
          )
        }}
      </Answered>
    </Tile>
  )
}
