// The SQL files that come with convohouse, below `sql/`: beside `src/` in the sources, and copied to `dist/sql` by the build. The path is
// relative to a module two folders deep, as this one and the bundled one (dist/src/bundle) are.
import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { quoteText } from '../catalog/layout.ts'
import { recordChecks } from './checks.ts'
import type { Params } from './connection.ts'

export interface SqlFile {
  /** Without its ending. */
  name: string
  sql: string
}

const pathOf = (name: string): string => fileURLToPath(new URL(`../../sql/${name}`, import.meta.url))

const texts = new Map<string, string>()

/** The text of one file, by its folder and name without the ending: `planning/hiding_ranges`. Read at its first use. */
export function sqlFile(name: string): string {
  const text = texts.get(name) ?? readFileSync(pathOf(`${name}.sql`), 'utf8')
  texts.set(name, text)
  return text
}

/** All files of a folder, by name. */
export async function sqlFiles(folder: 'meta' | 'views' | 'checks' | 'reports'): Promise<SqlFile[]> {
  const names = (await readdir(pathOf(folder))).filter(name => name.endsWith('.sql')).sort()
  return names.map(file => {
    const name = file.slice(0, -'.sql'.length)
    return { name, sql: sqlFile(`${folder}/${name}`) }
  })
}

/** Every check of the warehouse, by name: those in `sql/checks`, and those that the catalog derives for each record type. */
export async function warehouseChecks(): Promise<SqlFile[]> {
  const checks = [...(await sqlFiles('checks')), ...recordChecks()]
  return checks.sort((a, b) => (a.name < b.name ? -1 : 1))
}

const literalOf = (value: Params[string]): string => (typeof value === 'string' ? quoteText(value) : String(value))

/**
 * The statement of one of these files with its parameters replaced by literals. For guarded queries only, which accept no
 * parameters: see `query/guard`.
 */
export const withLiterals = (sql: string, params: Params): string =>
  sql.replace(/^\s*--.*$/gm, '').replace(/\$(\w+)/g, (_, name: string) => {
    const value = params[name]
    if (value === undefined) throw new Error(`no value for the parameter ${name}`)
    return literalOf(value)
  })
