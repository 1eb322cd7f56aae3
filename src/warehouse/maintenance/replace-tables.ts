// Replaces single tables of the open warehouse by those of one that was rebuilt beside it.
import { tablesOf } from '../../catalog/ddl.ts'
import { layoutOf, quoteText } from '../../catalog/layout.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { beginEpoch } from '../changes/epoch.ts'
import { isPublished } from '../changes/published-tables.ts'
import type { Writer } from '../connection.ts'
import { lastNumber, numberChildren, numberedLayoutOf, saveNumbers, withSavedNumbers } from '../load/record-numbers.ts'

/** Bookkeeping that derives from landing and spool alone. */
const DERIVED = [
  '_requests',
  '_windows',
  '_quota',
  '_issues',
  '_drift',
  '_quarantine',
  '_absences',
  '_measured_refreshes',
  'conversation_observations',
  'conversation_patches',
]

/** Names of the tables that can be rebuilt singly. */
export const replaceableTables = (): string[] => [
  ...RECORD_TYPES.flatMap(record => tablesOf(layoutOf(record)).map(table => table.name)),
  ...DERIVED,
]

/** @throws TABLE_UNKNOWN */
export function checkReplaceable(names: readonly string[]): void {
  const known = replaceableTables()
  const unknown = names.find(name => !known.includes(name))
  if (unknown === undefined) return
  throw new ConvohouseError('TABLE_UNKNOWN', {
    what: `No table ${JSON.stringify(unknown)} can be rebuilt from landing and spool.`,
    hint: `Choose from: ${known.join(', ')}.`,
  })
}

/** For a table, the one that derives from it and is replaced with it. */
const FOLLOWING: Record<string, string> = { _windows: '_covered' }

/** The tables to replace: records before their child tables, which take their numbers from them. */
function inOrder(names: readonly string[]): string[] {
  const all = [...new Set(names.flatMap(name => [name, FOLLOWING[name] ?? name]))]
  const isRecord = (name: string) => numberedLayoutOf(name)?.record.table === name
  return [...all.filter(isRecord), ...all.filter(name => !isRecord(name))]
}

async function replaceTable(writer: Writer, name: string, here: string): Promise<void> {
  const layout = numberedLayoutOf(name)
  const isRecord = layout?.record.table === name
  const last = layout ? await lastNumber(writer, layout) : 0
  if (layout && isRecord) await saveNumbers(writer, layout)
  const rows = layout ? withSavedNumbers(layout, { name, schema: 'rebuilt', last }) : `SELECT * FROM rebuilt.${name}`
  await writer.run(`DELETE FROM ${name} WHERE ${here}`)
  await writer.run(`INSERT INTO ${name} BY NAME ${rows} WHERE ${here}`)
  // A record whose row had been lost gets a new number; its child rows may still have the old one.
  if (layout && isRecord) await numberChildren(writer, layout)
}

/**
 * Replaces the rows of `workspaceIds` in each of `names` by those of the attached `rebuilt`, in one transaction. Published
 * tables begin a new epoch of the change log, because every row of them is written again. The caller has exclusive use of the writer.
 */
export async function replaceTables(
  writer: Writer,
  { names, workspaceIds }: { names: readonly string[]; workspaceIds: readonly string[] },
): Promise<void> {
  const here = `workspace_id IN (${workspaceIds.map(quoteText).join(', ')})`
  await writer.run('BEGIN')
  try {
    for (const name of inOrder(names)) await replaceTable(writer, name, here)
    if (names.some(isPublished)) await beginEpoch(writer)
    await writer.run('COMMIT')
  } catch (error) {
    await writer.run('ROLLBACK').catch(() => {})
    throw error
  }
}
