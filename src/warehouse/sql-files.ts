// The bundled SQL files: `sql/` in the sources, `dist/sql` in the build. This module and its bundled copy (dist/src/bundle) both lie two
// folders below the root, so one relative path serves both.
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { quoteText } from '../catalog/layout.ts'
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
export const sqlFiles = (folder: 'meta' | 'views' | 'checks' | 'reports' | 'marts'): SqlFile[] =>
  readdirSync(pathOf(folder))
    .filter(name => name.endsWith('.sql'))
    .sort()
    .map(file => {
      const name = file.slice(0, -'.sql'.length)
      return { name, sql: sqlFile(`${folder}/${name}`) }
    })

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
