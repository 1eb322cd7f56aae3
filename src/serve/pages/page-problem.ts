// Whether a page asks of each metric what the metric can answer.
import { ConvohouseError } from '../../core/errors.ts'
import type { Metric } from '../../metrics/declaration.ts'
import { expectAnswerable, type MetricsRequest, metricNamed } from '../../metrics/request.ts'
import type { DeclaredPage, Tile } from './page-format.ts'

const NAME = /^[a-z][a-z0-9-]{0,62}$/

/** Units of which the values of two metrics may not be drawn on one axis. */
const APART = ['unstated', 'money']

type Problem = string | null | undefined

type Named = (name: string) => Metric

function expectAll(named: Named, metrics: readonly string[], asked: Partial<MetricsRequest>): void {
  for (const name of metrics) expectAnswerable(named(name), { grain: 'none', filters: {}, ...asked }, true)
}

function tileProblem(tile: Tile, named: Named): string | null {
  if (tile.kind === 'table') expectAll(named, tile.metrics, { split: tile.table, filters: tile.filters })
  if (tile.kind !== 'metrics') return null
  const { metrics, split, filters, grain } = tile
  expectAll(named, metrics, { split, filters, grain: grain === 'auto' ? 'day' : grain })
  const units = metrics.map(name => named(name).unit)
  const [unit] = units
  return new Set(units).size > 1 || (units.length > 1 && APART.includes(unit!))
    ? `metrics of one chart need one unit, and these have ${units.join(', ')}`
    : null
}

function changesProblem({ metrics, by }: NonNullable<DeclaredPage['changes']>, named: Named): string | null {
  for (const split of by) expectAll(named, metrics, { split })
  const other = metrics.map(named).find(({ isAdditive, isLevel }) => !isAdditive || isLevel)
  return other ? `parts of ${other.name} do not add up to the whole, so they cannot explain its change` : null
}

/** Returns what is wrong with a page; null if nothing is. */
export function pageProblem(name: string, page: DeclaredPage, metrics: readonly Metric[]): string | null {
  if (!NAME.test(name)) return `the name "${name}" is not small letters, digits and hyphens`
  const named: Named = one => metricNamed(metrics, one)
  const parts: [string, () => Problem][] = [
    ['figures', () => void expectAll(named, page.figures, {})],
    ['changes', () => page.changes && changesProblem(page.changes, named)],
    ...page.tiles.map((tile, at): (typeof parts)[number] => [`tiles.${at}`, () => tileProblem(tile, named)]),
  ]
  for (const [place, check] of parts) {
    const problem = problemIn(check)
    if (problem) return `${place}: ${problem}`
  }
  return null
}

function problemIn(check: () => Problem): Problem {
  try {
    return check()
  } catch (error) {
    if (error instanceof ConvohouseError) return [error.message, error.hint].filter(Boolean).join(' ')
    throw error
  }
}
