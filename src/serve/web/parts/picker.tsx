// Chooses values of a dimension in a searchable list with counts. The choice is in the address.
import { useState } from 'preact/hooks'
import { countText } from '../format/values.ts'
import { chosen as chosenByName, type FilterName, filterText } from '../state/filters.ts'
import { go, here } from '../state/location.ts'
import { Icon } from './icons.tsx'
import { Menu } from './menu.tsx'

interface Choice {
  key: string
  label: string
  n?: number
}

interface PickerProps {
  name: FilterName
  /** `Agent`, `agents`. */
  title: string
  plural: string
  choices: readonly Choice[]
}

const SEARCHED = 8
const SHOWN = 200

export function Picker({ name, title, plural, choices }: PickerProps) {
  const [search, setSearch] = useState('')
  const chosen = chosenByName.value[name] ?? []
  const labelOf = (key: string) => choices.find(one => one.key === key)?.label ?? key
  const choose = (keys: readonly string[]) => go(here({ [name]: filterText(keys), after: null }), { replace: true })
  const found = choices.filter(({ label }) => label.toLowerCase().includes(search.trim().toLowerCase()))
  const summary =
    chosen.length === 0 ? `All ${plural}` : chosen.length === 1 ? labelOf(chosen[0]!) : `${chosen.length} ${plural}`
  return (
    <div class={chosen.length > 0 ? 'filter on' : 'filter'}>
      <Menu
        button={
          <>
            <small>{title}</small> <span class="cut">{summary}</span>
            <Icon name="down" />
          </>
        }
      >
        {() => (
          <>
            {choices.length > SEARCHED && (
              <input
                type="search"
                placeholder={`Search ${choices.length} ${plural}`}
                aria-label={`Search ${plural}`}
                value={search}
                onInput={event => setSearch(event.currentTarget.value)}
              />
            )}
            <ul>
              {found.slice(0, SHOWN).map(({ key, label, n }) => (
                <li key={key}>
                  <label>
                    <input
                      type="checkbox"
                      checked={chosen.includes(key)}
                      onChange={() =>
                        choose(chosen.includes(key) ? chosen.filter(one => one !== key) : [...chosen, key])
                      }
                    />
                    <span>{label}</span>
                    {n !== undefined && <small>{countText(n)}</small>}
                  </label>
                </li>
              ))}
            </ul>
            {found.length === 0 && <p class="note">None is called so.</p>}
            {found.length > SHOWN && <p class="note">{found.length - SHOWN} more: search for them.</p>}
          </>
        )}
      </Menu>
      {chosen.length > 0 && (
        <button type="button" class="clear" aria-label={`Clear ${title}`} onClick={() => choose([])}>
          <Icon name="close" />
        </button>
      )}
    </div>
  )
}
