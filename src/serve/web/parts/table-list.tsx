// The tables and columns that SQL sees, with their comments. A click inserts the name.
import { useState } from 'preact/hooks'
import { writtenName } from '../../../catalog/layout.ts'
import { type DescribedTable, useTables } from '../api/pages.ts'
import { Answered } from './states.tsx'

interface TableListProps {
  onInsert: (text: string) => void
}

const written = (name: string): string => name.split('.').map(writtenName).join('.')

export function TableList({ onInsert }: TableListProps) {
  const [search, setSearch] = useState('')
  const answer = useTables()
  const words = search.trim().toLowerCase()
  const isFound = ({ name, columns }: DescribedTable) =>
    name.toLowerCase().includes(words) || columns.some(column => column.name.toLowerCase().includes(words))
  return (
    <aside class="table-list card" aria-label="Tables">
      <input
        type="search"
        placeholder="Search tables and columns"
        aria-label="Search tables and columns"
        value={search}
        onInput={event => setSearch(event.currentTarget.value)}
      />
      <Answered answer={answer} height={320}>
        {tables => {
          const found = tables.filter(isFound)
          if (found.length === 0) return <p class="note">No table or column is called so.</p>
          return (
            <ul>
              {found.map(table => (
                <TableEntry key={table.name} table={table} onInsert={onInsert} />
              ))}
            </ul>
          )
        }}
      </Answered>
    </aside>
  )
}

function TableEntry({ table: { name, about, columns }, onInsert }: TableListProps & { table: DescribedTable }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <li>
      <div>
        <button
          type="button"
          class="plain"
          aria-expanded={isOpen}
          aria-label={`Columns of ${name}`}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? '−' : '+'}
        </button>
        <button type="button" class="plain name" title={about ?? undefined} onClick={() => onInsert(written(name))}>
          {name}
        </button>
      </div>
      {isOpen && (
        <>
          {about && <p class="note">{about}</p>}
          <ul>
            {columns.map(column => (
              <li key={column.name}>
                <button type="button" class="plain name" onClick={() => onInsert(written(column.name))}>
                  {column.name} <small>{column.type.toLowerCase()}</small>
                </button>
                {column.about && <p class="note">{column.about}</p>}
              </li>
            ))}
          </ul>
        </>
      )}
    </li>
  )
}
