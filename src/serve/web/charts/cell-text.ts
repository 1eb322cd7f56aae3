// A value in words, or why there is none.
import type { Cell } from '../../../metrics/answer-format.ts'
import type { ListedMetric } from '../../declared-metrics.ts'
import { tooFewText, valueText } from '../format/values.ts'

/** Returns a cell in words: its value, or why it has none. Money has none if its currency is unknown or not one. */
export function cellText(cell: Cell | undefined, metric: Pick<ListedMetric, 'unit' | 'unitBy' | 'minimum'>): string {
  if (!cell) return '–'
  if (!cell.isCovered && cell.n === 0) return 'not exported'
  if (cell.value !== null) return valueText(cell.value, metric.unit, cell.n)
  if (cell.n === 0) return 'none'
  return metric.unitBy !== null && cell.n >= metric.minimum ? 'not added up' : tooFewText(cell.n)
}
