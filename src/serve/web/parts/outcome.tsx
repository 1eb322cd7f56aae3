// An outcome with its colour, which it has in charts too.
import { colourOf, unnamed, wordOf } from '../state/colours.ts'

export const Outcome = ({ value }: { value: string }) => (
  <>
    <span class="swatch" style={{ background: colourOf('outcome', unnamed(value)) }} />
    {wordOf('outcome', value)}
  </>
)
