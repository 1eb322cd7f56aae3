// SQL of the reader: editor, result, quick chart, downloads. What was run, and how it is drawn, is in the address.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { formatDuration } from '../../../core/time.ts'
import { counted } from '../../../core/words.ts'
import { type Problem, postJson, RequestFailed, send } from '../api/client.ts'
import { useTables } from '../api/pages.ts'
import { QuickChart } from '../charts/quick-chart.tsx'
import { timeText } from '../format/dates.ts'
import { countText } from '../format/values.ts'
import { lazy } from '../parts/lazy.tsx'
import { Menu } from '../parts/menu.tsx'
import { resultTable, type SqlAnswer } from '../parts/result-table.tsx'
import { saveAs } from '../parts/save.ts'
import { Select } from '../parts/select.tsx'
import type { Editor } from '../parts/sql-editor.tsx'
import { Empty, Skeleton } from '../parts/states.tsx'
import { DataTable } from '../parts/table.tsx'
import { TableList } from '../parts/table-list.tsx'
import { go, here, query } from '../state/location.ts'
import { placeOf } from '../state/sql-place.ts'
import { EXAMPLES } from './explore-examples.ts'

const SqlEditor = lazy(async () => (await import('../parts/sql-editor.tsx')).SqlEditor)

const MOST_ROWS = 10_000
const DRAWN_ROWS = 500
/** Longer addresses are cut by proxies and mail programs. */
const MOST_ADDRESS = 6_000

interface Result extends SqlAnswer {
  sql: string
  asOf: string
  ms: number
}

export function Explore() {
  const tables = useTables().data
  const given = query.value.get('sql') ?? ''
  const [text, setText] = useState(given)
  const [result, setResult] = useState<Result | null>(null)
  const [problem, setProblem] = useState<Problem | null>(null)
  const [running, setRunning] = useState<AbortController | null>(null)
  const editor = useRef<Editor>(null)
  const isLong = encodeURIComponent(text).length > MOST_ADDRESS
  // The same object for the same problem, so that the editor marks it once.
  const place = useMemo(() => problem && placeOf(problem.what, text), [problem])

  const ask = async (sql: string) => {
    const controller = new AbortController()
    setRunning(controller)
    setProblem(null)
    const began = performance.now()
    try {
      const body = { sql, maxRows: MOST_ROWS }
      const answer = await postJson<SqlAnswer & { asOf: string }>('v1/query', body, controller.signal)
      setResult({ ...answer, sql, ms: performance.now() - began })
    } catch (error) {
      if (error instanceof RequestFailed) setProblem(error.problem)
      else if (controller.signal.aborted) setProblem({ code: 'CANCELLED', what: 'The query was cancelled.' })
      else setProblem({ code: 'PAGE', what: 'The answer broke off.', hint: 'Run the query again.' })
    }
    setRunning(current => (current === controller ? null : current))
  }
  const run = (sql = text) => {
    if (sql.trim() === '' || running) return
    const isNew = sql !== given
    const address = encodeURIComponent(sql).length > MOST_ADDRESS ? null : sql
    if (isNew) go(here({ sql: address, x: null, y: null, by: null }))
    void ask(sql)
  }
  // The address is followed when it changes by a link or by Back.
  useEffect(() => {
    if (given === '' || given === result?.sql || running) return
    editor.current?.replace(given)
    void ask(given)
  }, [given])
  const example = (sql: string) => {
    editor.current?.replace(sql)
    run(sql)
  }

  return (
    <div class="explore">
      <section class="tile card stack" aria-label="SQL">
        <SqlEditor
          text={text}
          tables={tables}
          place={place}
          onChange={setText}
          onRun={() => run()}
          onReady={found => {
            editor.current = found
          }}
        />
        <div class="row">
          {running ? (
            <button type="button" onClick={() => running.abort()}>
              Cancel
            </button>
          ) : (
            <button type="button" class="main" disabled={text.trim() === ''} onClick={() => run()}>
              Run
            </button>
          )}
          <Downloads sql={text} />
          <span class="note">
            Ctrl+Enter runs. Tab leaves the editor; while completions are shown, press Esc first.
            {isLong && <b class="doubt"> Too long for an address: copy the SQL to share it.</b>}
          </span>
        </div>
      </section>
      <section class="stack" aria-label="Result" aria-busy={running !== null}>
        {problem && <SqlProblem problem={problem} />}
        {running && !result && <Skeleton height={240} />}
        {!problem && result && <Shown result={result} isStale={running !== null} />}
        {!problem && !result && !running && <Examples onChoose={example} />}
      </section>
      <TableList onInsert={name => editor.current?.insert(name)} />
    </div>
  )
}

function SqlProblem({ problem: { code, what, hint } }: { problem: Problem }) {
  return (
    <div class="tile card stack sql-problem" role="alert">
      <p>
        <code>{code}</code>
      </p>
      <pre tabIndex={0}>{what}</pre>
      {hint && <p class="note">{hint}</p>}
    </div>
  )
}

function Examples({ onChoose }: { onChoose: (sql: string) => void }) {
  return (
    <section class="tile card stack" aria-label="Examples">
      <h2>Ask the tables yourself</h2>
      <p class="note">Write a SELECT in DuckDB’s SQL, or begin with one of these.</p>
      <ul class="stack">
        {EXAMPLES.map(({ title, sql }) => (
          <li key={title}>
            <button type="button" title={sql} onClick={() => onChoose(sql)}>
              {title}
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}

const FORMATS = [
  { title: 'CSV', type: 'text/csv', ending: 'csv' },
  { title: 'Parquet', type: 'application/vnd.apache.parquet', ending: 'parquet' },
  { title: 'Arrow', type: 'application/vnd.apache.arrow.stream', ending: 'arrows' },
]

function Downloads({ sql }: { sql: string }) {
  const [state, setState] = useState<string | null>(null)
  const save = async ({ title, type, ending }: (typeof FORMATS)[number]) => {
    setState(`Preparing ${title} …`)
    try {
      const headers = { 'Content-Type': 'application/json', Accept: type }
      const answer = await send('v1/query', { method: 'POST', headers, body: JSON.stringify({ sql }) })
      saveAs(`query.${ending}`, await answer.blob())
      setState(null)
    } catch (error) {
      setState(error instanceof RequestFailed ? error.problem.what : 'The download broke off: try again.')
    }
  }
  return (
    <>
      <Menu label="Download all rows" button="Download" class="menu">
        {item => (
          <ul>
            {FORMATS.map(format => (
              <li key={format.ending}>
                {item(`${format.title}, all rows`, () => save(format), { disabled: sql.trim() === '' })}
              </li>
            ))}
          </ul>
        )}
      </Menu>
      {state && (
        <span class="note" role="status">
          {state}
        </span>
      )}
    </>
  )
}

const VIEWS = ['table', 'bars', 'line'] as const

function Shown({ result, isStale }: { result: Result; isStale: boolean }) {
  const table = resultTable(result)
  const params = query.value
  const view = VIEWS.find(name => name === params.get('chart')) ?? 'table'
  const names = table.columns.map(({ key }) => key)
  const numbers = table.columns.filter(({ isNumber }) => isNumber).map(({ key }) => key)
  const chosen = (name: string, among: readonly string[]) => among.find(key => key === params.get(name))
  const x = chosen('x', names) ?? names.find(key => !numbers.includes(key)) ?? names[0]
  const y = chosen('y', numbers) ?? numbers.find(key => key !== x)
  const others = names.filter(key => key !== x && key !== y)
  const by = chosen('by', others)
  const drawn = table.rows.slice(0, DRAWN_ROWS)
  const count = result.rows.length
  return (
    <div class={isStale ? 'tile card stack stale' : 'tile card stack'}>
      <div class="row between">
        <p role="status">
          <b>
            {result.truncated && 'The first '}
            {counted(count, 'row')}
          </b>{' '}
          in {result.ms < 500 ? `${Math.round(result.ms)} ms` : formatDuration(result.ms)}, data as of{' '}
          {timeText(result.asOf)}.{' '}
          {result.truncated && <span class="doubt">There are more: the result is cut. A download has all.</span>}
        </p>
        {numbers.length > 0 && count > 0 && (
          <div class="row" role="group" aria-label="View">
            {VIEWS.map(name => (
              <button
                type="button"
                key={name}
                aria-pressed={view === name}
                onClick={() => go(here({ chart: name === 'table' ? null : name }), { replace: true })}
              >
                {name.replace(/^./, first => first.toUpperCase())}
              </button>
            ))}
          </div>
        )}
      </div>
      {count === 0 ? (
        <Empty>The query found no rows.</Empty>
      ) : view !== 'table' && x && y ? (
        <>
          <div class="row">
            <Select name="x" title="Across" value={x} options={names} />
            <Select name="y" title="Height" value={y} options={numbers} />
            <Select name="by" title="Split by" value={by ?? 'none'} options={['none', ...others]} />
          </div>
          <QuickChart title="Result" rows={result.rows} chart={view} x={x} y={[y]} by={by} />
        </>
      ) : (
        <>
          <DataTable caption="Rows" columns={table.columns} rows={drawn} sort={count <= DRAWN_ROWS ? 'sort' : null} />
          {count > DRAWN_ROWS && (
            <p class="note">
              {countText(DRAWN_ROWS)} of {countText(count)} rows are drawn. A chart uses all of them, and a download has
              them.
            </p>
          )}
        </>
      )}
    </div>
  )
}
