// The small trend beneath a figure: covered, finished values only, on a scale that begins at zero for counts.
import type { Cell } from '../../../metrics/answer-format.ts'

const WIDTH = 160
const HEIGHT = 28

export function Sparkline({ cells }: { cells: readonly Cell[] }) {
  const points = cells.map(({ value, isCovered, isUnfinished }) => (isCovered && !isUnfinished ? value : null))
  const known = points.filter(value => value !== null)
  if (known.length < 3) return <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true" />
  const most = Math.max(...known) || 1
  const x = (at: number) => (at / Math.max(1, points.length - 1)) * (WIDTH - 4) + 2
  const y = (value: number) => HEIGHT - 3 - (value / most) * (HEIGHT - 6)
  const path = points
    .map((value, at) =>
      value === null
        ? ''
        : `${at === 0 || points[at - 1] === null ? 'M' : 'L'}${x(at).toFixed(1)} ${y(value).toFixed(1)}`,
    )
    .join('')
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <path d={path} vector-effect="non-scaling-stroke" />
    </svg>
  )
}
