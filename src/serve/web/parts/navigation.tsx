// The pages: a side bar, which is a bar at the bottom of phones.
import { useState } from 'preact/hooks'
import { signOut } from '../api/client.ts'
import { useSession } from '../api/pages.ts'
import { addressOf } from '../state/location.ts'
import { Icon } from './icons.tsx'

export interface Entry {
  name: string
  title: string
  icon: string
}

const NARROW = 'convohouse-narrow'
/** Entries that a phone shows besides the list of all. */
const ON_PHONE = 4

export function Navigation({ entries, current, first }: { entries: readonly Entry[]; current: string; first: string }) {
  const [isNarrow, setNarrow] = useState(localStorage.getItem(NARROW) === 'yes')
  const [isOpen, setOpen] = useState(false)
  const session = useSession().data
  const toggle = () => {
    localStorage.setItem(NARROW, isNarrow ? 'no' : 'yes')
    setNarrow(!isNarrow)
  }
  return (
    <nav class={`side${isNarrow ? ' narrow' : ''}${isOpen ? ' open' : ''}`} aria-label="Pages">
      <div class="side-content">
        <div class="brand">
          <button
            type="button"
            class="plain"
            onClick={toggle}
            aria-label={isNarrow ? 'Widen the side bar' : 'Narrow the side bar'}
            aria-pressed={isNarrow}
          >
            <Icon name="menu" />
          </button>
          <span>convohouse</span>
        </div>
        <ul>
          {entries.map(({ name, title, icon }, at) => (
            <li key={name} class={at < ON_PHONE ? undefined : 'later'}>
              <a
                href={addressOf(name === first ? '' : name)}
                aria-current={name === current ? 'page' : undefined}
                title={isNarrow ? title : undefined}
                onClick={() => setOpen(false)}
              >
                <Icon name={icon} />
                <span class="cut">{title}</span>
              </a>
            </li>
          ))}
          <li class="more">
            <button type="button" class="plain" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
              <Icon name="dots" />
              <span>More</span>
            </button>
          </li>
        </ul>
        {session?.token && (
          <button type="button" class="sign-out cut" onClick={() => void signOut()}>
            Sign out {session.token}
          </button>
        )}
      </div>
    </nav>
  )
}
