// The bundled SQL files: `sql/` in the sources, `dist/sql` in the build. This module and its bundled copy
// (dist/src/bundle) both lie two folders below the root, so one relative path serves both.
import { readdirSync, readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { quoteText } from '../catalog/layout.ts'
import { diskErrorText } from '../core/disk.ts'
import type { Params } from './connection.ts'

export interface SqlFile {
  /** Name without the extension. */
  name: string
  sql: string
}

const pathOf = (name: string): string => fileURLToPath(new URL(`../../sql/${name}`, import.meta.url))

const texts = new Map<string, string>()

/** Returns the text of one file, by its folder and name without the extension: `planning/hiding_ranges`. Reads it on first use. */
export function sqlFile(name: string): string {
  const text = texts.get(name) ?? readFileSync(pathOf(`${name}.sql`), 'utf8')
  texts.set(name, text)
  return text
}

/** Returns all files of a folder, by name. */
export const sqlFiles = (folder: 'meta' | 'views' | 'checks' | 'reports' | 'marts'): SqlFile[] =>
  readdirSync(pathOf(folder))
    .filter(name => name.endsWith('.sql'))
    .sort()
    .map(file => {
      const name = file.slice(0, -'.sql'.length)
      return { name, sql: sqlFile(`${folder}/${name}`) }
    })

/** A file of the user; `problem`: why it cannot be read. */
export interface OwnSqlFile extends SqlFile {
  problem?: string
}

/** Returns the `.sql` files of a user's folder, by name. @throws the system's error if the folder cannot be read */
export async function ownSqlFiles(folder: string): Promise<OwnSqlFile[]> {
  const names = (await readdir(folder)).filter(name => name.endsWith('.sql')).sort()
  return Promise.all(
    names.map(async file => {
      const name = file.slice(0, -'.sql'.length)
      const path = join(folder, file)
      return readFile(path, 'utf8').then(
        sql => ({ name, sql }),
        error => ({ name, sql: '', problem: `${path} cannot be read: ${diskErrorText(error)}` }),
      )
    }),
  )
}

const literalOf = (value: Params[string]): string => (typeof value === 'string' ? quoteText(value) : String(value))

/**
 * Returns a file's statement with its parameters replaced by literals. Only for guarded queries, which accept no
 * parameters (`query/guard`).
 */
export const withLiterals = (sql: string, params: Params): string =>
  sql.replace(/^\s*--.*$/gm, '').replace(/\$(\w+)/g, (_, name: string) => {
    const value = params[name]
    if (value === undefined) throw new Error(`no value for the parameter ${name}`)
    return literalOf(value)
  })

export interface SqlHeader {
  about: string
  /** Non-empty lines of each field. */
  fields: ReadonlyMap<string, readonly string[]>
  /** The SQL after the header. */
  select: string
}

/** Parses a header that may have these fields. */
export function readHeader(sql: string, names: readonly string[]): SqlHeader {
  const lines = sql.trimStart().split(/\r?\n/)
  const end = lines.findIndex(line => !line.startsWith('--'))
  const about: string[] = []
  const fields = new Map<string, string[]>()
  let current = about
  for (const line of end < 0 ? lines : lines.slice(0, end)) {
    const text = line.replace(/^-- ?/, '').trimEnd()
    const name = names.find(one => text.startsWith(`${one}:`))
    if (name !== undefined) {
      current = []
      fields.set(name, current)
    }
    const rest = name === undefined ? text : text.slice(name.length + 1).trim()
    if (rest === '' && current === about) current = []
    if (rest !== '') current.push(rest)
  }
  return { about: about.join(' ').trim(), fields, select: end < 0 ? '' : lines.slice(end).join('\n') }
}

/** Returns the parts of a line of columns. */
export const columnParts = (line: string): string[] => line.trim().split(/\s{2,}/)

/** Returns the names in a field that lists them; none if the header lacks the field. */
export const listIn = ({ fields }: SqlHeader, name: string): string[] =>
  (fields.get(name)?.join(' ') ?? '')
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '')
