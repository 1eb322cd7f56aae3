// Chooses the period: relative, or two days.
import { useState } from 'preact/hooks'
import { go, here } from '../state/location.ts'
import { DEFAULT_PERIOD, PERIODS, parsePeriod, periodName, periodText, periodTitle } from '../state/period.ts'
import { Icon } from './icons.tsx'
import { Menu } from './menu.tsx'

export function PeriodMenu() {
  const name = periodName.value
  const asked = parsePeriod(name)
  const fixed = typeof asked === 'string' ? { from: '', to: '' } : asked
  const [days, setDays] = useState(fixed)
  const isValid = days.from !== '' && days.to !== '' && days.from <= days.to
  const choose = (chosen: string) =>
    go(here({ period: chosen === DEFAULT_PERIOD ? null : chosen, after: null }), { replace: true })
  return (
    <div class={name === DEFAULT_PERIOD ? 'filter' : 'filter on'}>
      <Menu
        button={
          <>
            <small>Period</small> <span class="cut">{periodTitle(name)}</span>
            <Icon name="down" />
          </>
        }
      >
        {close => (
          <>
            <ul>
              {PERIODS.map(one => (
                <li key={one.name}>
                  <button
                    type="button"
                    class="plain"
                    aria-pressed={one.name === name}
                    onClick={() => {
                      choose(one.name)
                      close()
                    }}
                  >
                    {one.title}
                  </button>
                </li>
              ))}
            </ul>
            <form
              class="stack"
              onSubmit={event => {
                event.preventDefault()
                if (!isValid) return
                choose(periodText(days))
                close()
              }}
            >
              <label class="row between">
                From
                <input
                  type="date"
                  value={days.from}
                  onInput={event => setDays({ ...days, from: event.currentTarget.value })}
                />
              </label>
              <label class="row between">
                To
                <input
                  type="date"
                  value={days.to}
                  onInput={event => setDays({ ...days, to: event.currentTarget.value })}
                />
              </label>
              <button type="submit" disabled={!isValid}>
                Show these days
              </button>
            </form>
          </>
        )}
      </Menu>
    </div>
  )
}
