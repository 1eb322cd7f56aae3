// Tables of the open warehouse replaced by those of one that was rebuilt beside it.
import { tablesOf } from '../catalog/ddl.ts'
import { layoutOf, quoteText } from '../catalog/layout.ts'
import { RECORD_TYPES } from '../catalog/records.ts'
import { ConvohouseError } from '../core/errors.ts'
import type { Writer } from './connection.ts'

/** Bookkeeping that what landed tells, and nothing else. */
const DERIVED = ['_requests', '_windows', '_quota', '_issues', '_drift', '_quarantine', 'conversation_observations']

/** Names of the tables that can be rebuilt one by one. */
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
    what: `No table ${JSON.stringify(unknown)} can be rebuilt from the landing.`,
    mend: `Choose of: ${known.join(', ')}.`,
  })
}

/** What follows from a table, and goes with it. */
const FOLLOWING: Record<string, string> = { _windows: '_covered' }

/** Rows that the landing tells; those that events told stay. */
const TOLD_BY_PAGES: Record<string, string> = { conversation_observations: "source = 'export'" }

/**
 * Replaces the rows of `workspaceIds` in each of `names` by those of the attached `rebuilt`, in one transaction. Called
 * alone on the writer.
 */
export async function replaceTables(
  writer: Writer,
  { names, workspaceIds }: { names: readonly string[]; workspaceIds: readonly string[] },
): Promise<void> {
  const here = `workspace_id IN (${workspaceIds.map(quoteText).join(', ')})`
  await writer.run('BEGIN')
  try {
    for (const name of new Set(names.flatMap(name => [name, FOLLOWING[name] ?? name]))) {
      const which = `${here} AND ${TOLD_BY_PAGES[name] ?? 'true'}`
      await writer.run(`DELETE FROM ${name} WHERE ${which}`)
      await writer.run(`INSERT INTO ${name} BY NAME SELECT * FROM rebuilt.${name} WHERE ${which}`)
    }
    await writer.run('COMMIT')
  } catch (error) {
    await writer.run('ROLLBACK').catch(() => {})
    throw error
  }
}
