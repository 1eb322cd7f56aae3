// Models of the user: each `.sql` file of a folder is one SELECT, whose rows become the table `models.NAME`. The
// comment at its beginning declares the properties that targets need:
//
//   -- What a row is.
//   -- key: workspace_id, team_label
//   -- shared: team_label (columns that targets with a row filter do not receive; may be omitted)
//   -- columns:
//   -- team_label none Name of the team (separated by at least two spaces; without a line, a column is `content`)

import { createHash } from 'node:crypto'
import type { DuckDBConnection } from '@duckdb/node-api'
import type { PiiClass } from '../../catalog/shape.ts'
import { tablesIn } from '../query/guard/guard.ts'
import { columnParts, listIn, readHeader, type SqlFile, sqlFiles } from '../sql-files.ts'

interface DeclaredColumn {
  name: string
  pii: PiiClass
  about: string
}

export interface Model {
  name: string
  about: string
  key: readonly string[]
  shared: readonly string[]
  columns: readonly DeclaredColumn[]
  /** Text of the whole file. */
  sql: string
  /** Hash of the file. */
  definition: string
  /** Reason why the file cannot be used. */
  problem?: string
}

/** Matches names that PostgreSQL accepts without quotes. */
const NAME = /^[a-z][a-z0-9_]{0,49}$/

const PII: readonly string[] = [
  ...(['none', 'identity', 'content', 'device', 'staff', 'label', 'word', 'code'] satisfies PiiClass[]),
]

interface Header extends Pick<Model, 'about' | 'key' | 'shared'> {
  columns: DeclaredColumn[]
  problem?: string
}

function headerOf(sql: string): Header {
  const header = readHeader(sql, ['key', 'shared', 'columns'])
  const lines = header.fields.get('columns') ?? []
  const isColumn = (line: string): boolean => PII.includes(columnParts(line)[1]!)
  const wrong = lines.find(line => !isColumn(line))
  return {
    ...{ about: header.about, key: listIn(header, 'key'), shared: listIn(header, 'shared') },
    columns: lines.filter(isColumn).map(line => {
      const [name, pii, about = ''] = columnParts(line)
      return { name: name!, pii: pii as PiiClass, about }
    }),
    ...(wrong !== undefined && {
      problem: `the line "${wrong.trim()}" of its header is not a column, a class (${PII.join(', ')}) and a description, separated by at least two spaces`,
    }),
  }
}

function problemOf(
  name: string,
  { about, key, shared, columns }: Header,
  taken: ReadonlySet<string>,
): string | undefined {
  if (!NAME.test(name))
    return 'its name must begin with a small letter and have at most 50 small letters, digits and underscores'
  if (taken.has(name)) return `${name} is the name of a table, view or mart: rename the file`
  if (about === '') return 'its header has no description: begin the file with a comment that says what a row is'
  if (key.length === 0) return 'its header needs a line `-- key: COLUMN, …` with the columns that identify a row'
  const twiceInKey = key.find((of, index) => key.indexOf(of) !== index)
  if (twiceInKey !== undefined) return `its header names the key column ${twiceInKey} twice`
  const classOf = (of: string) => columns.find(column => column.name === of)?.pii
  const undeclared = key.find(of => classOf(of) === undefined)
  if (undeclared !== undefined)
    return `its header declares no class for the key column ${undeclared}: without one it would be content, which targets drop`
  if (key.some(of => classOf(of) === 'content'))
    return 'a key column cannot be content: targets could not tell its rows apart'
  const twice = columns.find((column, index) => columns.findIndex(one => one.name === column.name) !== index)
  if (twice) return `its header declares the column ${twice.name} twice`
  const unknown = shared.find(of => classOf(of) === undefined)
  return unknown === undefined ? undefined : `its header declares no column ${unknown}, which \`shared\` names`
}

/** Returns the model that a file declares; with a `problem` if it cannot be used. `taken`: names of tables, views and marts. */
export function declaredModel({ name, sql }: SqlFile, taken: ReadonlySet<string>): Model {
  const header = headerOf(sql)
  const problem = header.problem ?? problemOf(name, header, taken)
  const definition = createHash('sha256').update(sql).digest('hex').slice(0, 16)
  return { ...header, name, sql, definition, ...(problem && { problem }) }
}

export const MODELS_SCHEMA = 'models'

/** A model with its sources. */
export interface PlannedModel extends Model {
  /** Names of tables, `marts.NAME` and `models.NAME`. */
  dependsOn: readonly string[]
}

const nameOf = ({ schema, table }: { schema: string; table: string }): string =>
  schema === '' || schema === 'main' ? table : `${schema}.${table}`

const isView = (name: string): boolean => sqlFiles('views').some(view => view.name === name)

/**
 * Returns the sources of a SELECT according to DuckDB's parser, with views resolved to tables. A CTE counts as the table of
 * its name. SQL that does not parse has none. Does not bind, which would open named files before the guard has checked them.
 */
export async function readBy(connection: DuckDBConnection, sql: string): Promise<string[]> {
  const named = await tablesIn(connection, sql).catch(() => [])
  const reader = await connection.runAndReadAll('SELECT current_database()')
  const database = String(reader.getRows()[0]![0])
  const names = named.map(({ schema: given, table }) => {
    const schema = given.toLowerCase()
    // `warehouse.conversations` contains the database name.
    return nameOf({ schema: schema === database.toLowerCase() ? '' : schema, table: table.toLowerCase() })
  })
  const ofViews = (view: string) =>
    connection.getTableNames(`FROM ${view}`, true).map(qualified => {
      const [schema, table] = qualified.split('.').slice(-2)
      return table === undefined ? schema! : nameOf({ schema: schema!, table })
    })
  return [...new Set(names.flatMap(name => (isView(name) ? ofViews(name) : [name])))]
}

const ofModels = ({ dependsOn }: PlannedModel): string[] =>
  dependsOn.filter(name => name.startsWith(`${MODELS_SCHEMA}.`)).map(name => name.slice(MODELS_SCHEMA.length + 1))

/** Sorts each model after those that it reads. A cycle, or an unknown model or mart, gives a `problem`. */
export function inOrder(models: readonly PlannedModel[], knownMarts: ReadonlySet<string>): PlannedModel[] {
  const byName = new Map(models.map(model => [model.name, model]))
  const problems = new Map<string, string>()
  const ordered: string[] = []
  const visit = (name: string, path: readonly string[]): void => {
    if (ordered.includes(name)) return
    const begin = path.indexOf(name)
    if (begin >= 0) {
      const cycle = [...path.slice(begin), name]
      for (const one of cycle) problems.set(one, `models read each other in a cycle: ${cycle.join(' → ')}`)
      return
    }
    const model = byName.get(name)!
    for (const other of ofModels(model)) if (byName.has(other)) visit(other, [...path, name])
    if (!ordered.includes(name)) ordered.push(name)
  }
  for (const { name } of models) visit(name, [])
  return ordered.map(name => {
    const model = byName.get(name)!
    const unknown =
      ofModels(model).find(other => !byName.has(other)) ??
      model.dependsOn.find(other => other.startsWith('marts.') && !knownMarts.has(other))
    const problem =
      model.problem ??
      problems.get(name) ??
      (unknown === undefined
        ? undefined
        : `it reads ${unknown.includes('.') ? unknown : `${MODELS_SCHEMA}.${unknown}`}, which does not exist`)
    return { ...model, ...(problem && { problem }) }
  })
}

/** Returns the names of the models that a model reads. */
export const modelsReadBy = ofModels
