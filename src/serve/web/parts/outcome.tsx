// An outcome with its colour, which it has in charts too.
import { colourOf, wordOf } from '../state/colours.ts'

export const Outcome = ({ value }: { value: string }) => (
  <>
    <span
      class="swatch"
      style={{ background: colourOf('outcome', { workspaceId: null, value, label: null, isOther: false }) }}
    />
    {wordOf('outcome', value)}
  </>
)
