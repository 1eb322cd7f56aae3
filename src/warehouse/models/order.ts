// The order in which models are built: each behind those that it reads.
import type { DuckDBConnection } from '@duckdb/node-api'
import { tablesIn } from '../query/guard/guard.ts'
import { sqlFiles } from '../sql-files.ts'
import type { Model } from './declaration.ts'

export const MODELS_SCHEMA = 'models'

/** A model with what it reads. */
export interface PlannedModel extends Model {
  /** Tables, `marts.NAME` and `models.NAME`. */
  dependsOn: readonly string[]
}

const nameOf = ({ schema, table }: { schema: string; table: string }): string =>
  schema === '' || schema === 'main' ? table : `${schema}.${table}`

const isView = (name: string): boolean => sqlFiles('views').some(view => view.name === name)

/**
 * What a SELECT reads, as DuckDB's parser finds it, views as the tables that they read. The name of a CTE counts as that of a table, if there is
 * one. Nothing of SQL that does not parse. It is not bound, since binding opens the files that it names: the guard has not seen it yet.
 */
export async function readBy(connection: DuckDBConnection, sql: string): Promise<string[]> {
  const named = await tablesIn(connection, sql).catch(() => [])
  const reader = await connection.runAndReadAll('SELECT current_database()')
  const database = String(reader.getRows()[0]![0])
  const names = named.map(({ schema: given, table }) => {
    const schema = given.toLowerCase()
    // `warehouse.conversations` names the database.
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

/** Each model behind those that it reads. One that reads itself, an unknown model or unknown mart, or is part of a cycle, has a `problem`. */
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

/** Names of the models that it reads. */
export const modelsReadBy = ofModels
