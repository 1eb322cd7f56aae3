// Chooses one of a few values, which is in the address.
import { go, here } from '../state/location.ts'

interface SelectProps {
  /** The parameter of the address. */
  name: string
  title: string
  value: string | undefined
  /** Values, or pairs of a value and its text. */
  options: readonly (string | readonly [string, string])[]
}

export const Select = ({ name, title, value, options }: SelectProps) => (
  <label class="select note">
    {title}
    <select value={value} onChange={event => go(here({ [name]: event.currentTarget.value }), { replace: true })}>
      {options.map(option => {
        const [key, text] = typeof option === 'string' ? [option, option] : option
        return (
          <option key={key} value={key}>
            {text}
          </option>
        )
      })}
    </select>
  </label>
)
