// Keys: `g` and a letter go to a page, `f` to the filters, `t` to the tables, `/` to the search, `?` lists them.
import { useEffect, useState } from 'preact/hooks'
import { addressOf, go } from '../state/location.ts'
import type { Entry } from './navigation.tsx'

/** Returns a letter for each page: its first one that is free. */
function lettersOf(entries: readonly Entry[]): Map<string, Entry> {
  const letters = new Map<string, Entry>()
  for (const entry of entries) {
    const letter = [...entry.title.toLowerCase()].find(one => /[a-z]/.test(one) && !letters.has(one))
    if (letter) letters.set(letter, entry)
  }
  return letters
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable)

const focusOn = (selector: string) => document.querySelector<HTMLElement>(selector)?.focus()

export function Keys({ entries, first }: { entries: readonly Entry[]; first: string }) {
  const [isShown, setShown] = useState(false)
  const letters = lettersOf(entries)
  useEffect(() => {
    let isGoing = false
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.composedPath()[0] ?? null)) return
      const found = isGoing ? letters.get(event.key) : undefined
      isGoing = event.key === 'g' && !isGoing
      if (found) go(addressOf(found.name === first ? '' : found.name))
      else if (event.key === '?') setShown(true)
      else if (event.key === 'Escape') setShown(false)
      else if (event.key === 'f') focusOn('.filters button')
      else if (event.key === 't') focusOn('.table')
      else if (event.key === '/') focusOn('input[type=search], .search input')
      else return
      if (event.key !== 'Escape') event.preventDefault()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [entries])
  if (!isShown) return null
  return (
    <div class="overlay">
      <div role="dialog" aria-modal="true" aria-label="Keys" class="dialog floating stack">
        <h2>Keys</h2>
        <dl class="stack">
          {[
            ...[...letters].map(([letter, { title }]) => [`g ${letter}`, title]),
            ['/', 'Search'],
            ['f', 'Filters'],
            ['t', 'Table'],
            ['?', 'These keys'],
            ['Esc', 'Close'],
          ].map(([key, what]) => (
            <div class="row between" key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        <button type="button" class="main" ref={element => element?.focus()} onClick={() => setShown(false)}>
          Close
        </button>
      </div>
    </div>
  )
}
