// The SQL files that come with convohouse: migrations of the bookkeeping, views, data tests, reports.
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { recordChecks } from '../catalog/checks.ts'

export interface SqlFile {
  /** Without its ending. */
  name: string
  sql: string
}

/** Every check of the warehouse, by name: those in `sql/checks`, and those that the catalog derives for each record type. */
export async function warehouseChecks(): Promise<SqlFile[]> {
  const checks = [...(await sqlFiles('checks')), ...recordChecks()]
  return checks.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Those of a folder below `sql/`, by name. */
export async function sqlFiles(folder: 'meta' | 'views' | 'checks' | 'reports'): Promise<SqlFile[]> {
  const where = fileURLToPath(new URL(`../../sql/${folder}/`, import.meta.url))
  const names = (await readdir(where)).filter(name => name.endsWith('.sql')).sort()
  return Promise.all(
    names.map(async name => ({ name: name.slice(0, -'.sql'.length), sql: await readFile(`${where}${name}`, 'utf8') })),
  )
}
