// A tile: its question, its subtitle, and the same actions in the same place: table, SQL, definition, CSV, link.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { ListedMetric } from '../api/metrics.ts'
import { go, here, query } from '../state/location.ts'
import { Icon } from './icons.tsx'
import { Menu } from './menu.tsx'
import { saveAs } from './save.ts'
import { csvOf, DataTable, type Table } from './table.tsx'

interface TileProps<Row> {
  /** Identifies the tile in the address. */
  id: string
  title: string
  subtitle?: string | undefined
  below?: string | undefined
  width?: 'half' | 'full'
  /** What stands behind it, for the actions; null while it is unknown. */
  sql?: string | null
  metrics?: readonly ListedMetric[]
  /** The same figures as a table; null while they are unknown. */
  table?: Table<Row> | null
  /** True if there is a table to choose instead of what is drawn. */
  isDrawn?: boolean
  /** Filters of the page that do not apply here. */
  ignored?: readonly string[]
  children: ComponentChildren
}

const VIEW = 'view'

const fileName = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')

/** Says that something was copied, to screen readers too. */
export function CopyButton({ text, children }: { text: () => string; children: ComponentChildren }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text())
    setCopied(true)
    setTimeout(() => setCopied(false), 2_000)
  }
  return (
    <button type="button" onClick={copy}>
      <span aria-live="polite">{isCopied ? 'Copied' : children}</span>
    </button>
  )
}

export function Tile<Row>(props: TileProps<Row>) {
  const {
    id,
    title,
    subtitle,
    below,
    width = 'half',
    sql,
    metrics = [],
    table,
    isDrawn,
    ignored = [],
    children,
  } = props
  const [openId, view] = (query.value.get(VIEW) ?? '').split(':')
  const open = openId === id ? view : undefined
  const show = (next: string) => go(here({ [VIEW]: open === next ? null : `${id}:${next}` }), { replace: true })
  return (
    <article class={`tile card stack ${width}`} id={`tile-${id}`} aria-label={title}>
      <header class="row between">
        <div>
          <h2>{title}</h2>
          {subtitle && <p class="note">{subtitle}</p>}
        </div>
        <Menu label={`Actions: ${title}`} button={<Icon name="dots" />} class="menu actions">
          {item => (
            <>
              {table &&
                isDrawn &&
                item(open === 'table' ? 'Chart' : 'Table', () => show('table'), { isOn: open === 'table' })}
              {sql && item('SQL', () => show('sql'), { isOn: open === 'sql' })}
              {metrics.length > 0 && item('Definition', () => show('definition'), { isOn: open === 'definition' })}
              {table && item('Download CSV', () => saveAs(`${fileName(title)}.csv`, csvOf(table), 'text/csv'))}
              <CopyButton
                text={() =>
                  new URL(here({ [VIEW]: open ? `${id}:${open}` : null }), location.href).href +
                  (open ? '' : `#tile-${id}`)
                }
              >
                Copy link
              </CopyButton>
            </>
          )}
        </Menu>
      </header>
      {ignored.length > 0 && (
        <p class="note">Not filtered by {ignored.join(' and ')}: this figure is not known by it.</p>
      )}
      {open === 'definition' && <Definitions metrics={metrics} />}
      {open === 'sql' && sql && (
        <div class="sql row">
          <pre class="inset" tabIndex={0}>
            {sql}
          </pre>
          <CopyButton text={() => sql}>Copy SQL</CopyButton>
          <a
            href={here({})}
            onClick={event => {
              event.preventDefault()
              go(`${new URL('explore', document.baseURI).pathname}?sql=${encodeURIComponent(sql)}`)
            }}
          >
            Open in Explore
          </a>
        </div>
      )}
      {open === 'table' && table && isDrawn ? <DataTable caption={title} {...table} sort={null} /> : children}
      {below && <p class="note">{below}</p>}
    </article>
  )
}

function Definitions({ metrics }: { metrics: readonly ListedMetric[] }) {
  return (
    <dl class="inset stack">
      {metrics.map(({ name, title, definition, misleads }) => (
        <div key={name}>
          <dt>
            <b>{title}</b>
          </dt>
          <dd class="muted">
            {definition} <em>{misleads}</em>
          </dd>
        </div>
      ))}
    </dl>
  )
}
