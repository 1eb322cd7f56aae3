// The ledger for people.

import { count, counted } from '../../core/words.ts'
import { visible } from '../output/table.ts'
import { type GridOptions, grid } from '../terminal/grid.ts'
import { plain } from '../terminal/style.ts'
import { type By, COUNT_NAMES, type CountName, type Counts, type LedgerRow } from './counts.ts'
import type { Difference } from './differences.ts'
import type { WorkspaceLedger } from './workspace.ts'

const HEADS: Record<CountName, string> = {
  scanned: 'scanned',
  returned: 'returned',
  skipped: 'skipped',
  held: 'held',
  quarantined: 'quarantined',
  incomplete: 'incomplete',
  seenInEvents: 'by events',
  knownStale: 'stale',
  missing: 'missing',
  notExportable: 'not exportable',
}

const cells = (counts: Counts): string[] => COUNT_NAMES.map(name => count(counts[name]))

const keyText = ({ key }: LedgerRow, by: By): string => key ?? (by === 'agent' ? '' : 'no ts')

function table({ by, rows, totals }: WorkspaceLedger, options: GridOptions): string[] {
  const columns = [{ name: by }, ...COUNT_NAMES.map(name => ({ name: HEADS[name], right: true }))]
  const lines = [...rows.map(row => [keyText(row, by), ...cells(row)]), ['total', ...cells(totals)]]
  return grid(columns, lines, options)
}

function priceText({ sessions }: Difference): string {
  if (sessions === null) return ' What it costs cannot be told: nothing of it has been seen.'
  return sessions === 0 ? ' It costs nothing.' : ` About ${counted(sessions, 'session')}.`
}

const sentence = (difference: Difference): string[] => [
  `  ${visible(difference.what)}`,
  `    → ${difference.hint}${priceText(difference)}`,
]

function closing({ differences, totals }: WorkspaceLedger): string[] {
  if (differences.length > 0) return ['Every difference, and what would mend it:', ...differences.flatMap(sentence)]
  if (totals.held === 0) return ['Nothing has been read.']
  return ['No difference: all that the vendor looked at was given, and is held.']
}

/** Lines about one workspace. */
export function ledgerLines(ledger: WorkspaceLedger, options: GridOptions = {}): string[] {
  const { style = plain } = options
  const { readThrough, workspaceId } = ledger
  const through = readThrough === null ? '' : `, read through ${readThrough.slice(0, 19).replace('T', ' ')} UTC`
  return [style('bold', `Workspace ${workspaceId}${through}`), '', ...table(ledger, options), '', ...closing(ledger)]
}
