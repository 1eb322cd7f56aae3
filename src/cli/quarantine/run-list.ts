// `convohouse quarantine list`: which records could not be loaded, and why.

import { counted } from '../../core/words.ts'
import { storageOf } from '../query/storage.ts'
import { reportRows } from '../status/reading.ts'
import { grid } from '../terminal/grid.ts'
import { print, printJson } from '../terminal/print.ts'
import { isTerminal, styleOf } from '../terminal/style.ts'
import { type Entry, type QuarantineFlags, quarantined } from './entries.ts'

const COLUMNS = [
  { name: 'id' },
  { name: 'workspace' },
  { name: 'since (UTC)' },
  { name: 'reason' },
  { name: 'element', right: true },
  { name: 'file' },
]

const cells = ({ id, workspaceId, since, reason, element, file }: Entry): string[] => [
  id,
  workspaceId,
  since.slice(0, 19).replace('T', ' '),
  reason,
  String(element),
  file,
]

function lines(entries: readonly Entry[]): string[] {
  if (entries.length === 0) return ['No record is quarantined.']
  const width = isTerminal(process.stdout) ? process.stdout.columns : undefined
  return [
    ...grid(COLUMNS, entries.map(cells), { width, style: styleOf(process.stdout) }),
    '',
    `${counted(entries.length, 'record')}. \`convohouse quarantine show ID\` prints one, \`convohouse quarantine retry\` tries them again.`,
  ]
}

/** @throws WAREHOUSE_MISSING; WAREHOUSE_LOCKED where its holder does not answer */
export async function runList(flags: QuarantineFlags): Promise<void> {
  const rows = reportRows(storageOf(flags.config))
  const entries = await quarantined(rows, flags.workspace)
  if (flags.json) printJson({ quarantined: entries })
  else print(...lines(entries))
}
