// A value in words, or why there is none.
import type { Cell } from '../../../metrics/answer.ts'
import type { ListedMetric } from '../../declared-metrics.ts'
import { tooFewText, valueText } from '../format/values.ts'

/** Returns a cell in words: its value, or why it has none. Money has none if its currency is unknown or not one. */
export function cellText(cell: Cell | undefined, { unit }: Pick<ListedMetric, 'unit'>): string {
  if (!cell) return '–'
  if (!cell.isCovered && cell.n === 0) return 'not exported'
  if (cell.value === null) return cell.n === 0 ? 'none' : unit === 'money' ? 'not added up' : tooFewText(cell.n)
  return valueText(cell.value, unit, cell.n)
}
