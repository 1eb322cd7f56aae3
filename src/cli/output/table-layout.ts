// How wide the columns of a table are, and which of them find room: plan first, draw after.

/** Between two columns. */
export const GAP = 2

/** A text column is not squeezed below this, and a column that finds less is left out. */
const NARROWEST = 8

export interface Measured {
  /** Cells of terminal that the widest value or the name needs. */
  natural: number
  /** A number cut short is a wrong number: such columns keep their width. */
  rigid: boolean
}

export interface Layout {
  /** Width of each column that is shown, from the left. */
  widths: number[]
  /** Columns at the right for which there is no room. */
  hidden: number
}

/** Fits columns into the terminal's width; the widest text columns give way first. No width: all as they need. */
export function layOut(columns: Measured[], terminal: number | undefined): Layout {
  const natural = columns.map(column => column.natural)
  if (terminal === undefined) return { widths: natural, hidden: 0 }
  const shown = howManyFit(columns, terminal)
  const room = terminal - GAP * (shown - 1)
  return { widths: squeeze(columns.slice(0, shown), room), hidden: columns.length - shown }
}

function howManyFit(columns: Measured[], terminal: number): number {
  let used = 0
  for (const [at, column] of columns.entries()) {
    used += least(column) + (at > 0 ? GAP : 0)
    if (used > terminal) return Math.max(1, at)
  }
  return columns.length
}

const least = ({ natural, rigid }: Measured) => (rigid ? natural : Math.min(natural, NARROWEST))

/** Lowers one bound on all text columns until they fit: narrow ones are not touched, wide ones share the rest. */
function squeeze(columns: Measured[], room: number): number[] {
  const under = (bound: number) =>
    columns.map(column => (column.rigid ? column.natural : Math.min(column.natural, Math.max(bound, least(column)))))
  let low = NARROWEST
  let high = Math.max(NARROWEST, ...columns.map(column => column.natural))
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (sum(under(middle)) <= room) low = middle
    else high = middle - 1
  }
  return under(low)
}

const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0)
