// Chooses the period: relative, or two days.
import { go, here } from '../state/location.ts'
import { DEFAULT_PERIOD, PERIODS, parsePeriod, periodName, periodText, periodTitle } from '../state/period.ts'
import { Icon } from './icons.tsx'
import { Menu } from './menu.tsx'

export function PeriodMenu() {
  const name = periodName.value
  const asked = parsePeriod(name)
  const fixed = typeof asked === 'string' ? { from: '', to: '' } : asked
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
        {(item, close) => (
          <>
            <ul>
              {PERIODS.map(one => (
                <li key={one.name}>{item(one.title, () => choose(one.name), { isOn: one.name === name })}</li>
              ))}
            </ul>
            <form
              class="stack"
              onSubmit={event => {
                event.preventDefault()
                const data = new FormData(event.currentTarget)
                const [from, to] = [String(data.get('from')), String(data.get('to'))].sort() as [string, string]
                choose(periodText({ from, to }))
                close()
              }}
            >
              {(['from', 'to'] as const).map(day => (
                <label class="row between" key={day}>
                  {day === 'from' ? 'From' : 'To'}
                  <input type="date" name={day} required defaultValue={fixed[day]} />
                </label>
              ))}
              <button type="submit">Show these days</button>
            </form>
          </>
        )}
      </Menu>
    </div>
  )
}
