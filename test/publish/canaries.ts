// Canaries: texts that occur nowhere else, each naming the place that it was put in. And a search for them in everything that a publication
// writes: the values that readers see, the bytes of files, the names of files, and the statistics and metadata in Parquet files.
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { RECORD_NUMBER } from '../../src/catalog/ddl.ts'
import { type Field, type Fields, isPersonal, type Lift } from '../../src/catalog/shape.ts'
import { publishedRelations } from '../../src/publish/selection.ts'
import type { Writer } from '../../src/warehouse/connection.ts'
import type { DescribedColumn } from '../../src/warehouse/dictionary/dictionary.ts'
import { refreshMarts } from '../../src/warehouse/marts/refresh.ts'
import { ENTRY } from './published.ts'

/** Prefix of every canary. */
export const CANARY = 'kanarienvogel.'

/** Returns a canary in lower case, without characters that JSON or a path would escape. */
export const canary = (place: string): string => `${CANARY}${place.toLowerCase().replaceAll(/[^a-z0-9_.]/g, '_')}.vk`

/** A telephone number, which is a canary in every way of writing it. */
export const CANARY_PHONE = '+49 170 5550199'

const PATTERN = 'kanarienvogel[._][a-z0-9_.]+?[._]vk|170[^0-9a-z]{0,3}555[^0-9a-z]{0,3}0199'

/** Returns a text that neither a word nor a code can be, with a canary. */
export const said = (place: string): string => `https://shop.example/?mail=${canary(place)}`

/** Returns a value of a field, with a canary in every text. */
function planted(field: Field, place: string): unknown {
  switch (field.kind) {
    case 'texts':
      return [said(place)]
    case 'group':
      return plantedFields(field.fields, place)
    case 'objects':
      return [plantedFields(field.fields, place)]
    case 'scalar':
      break
  }
  const { type, unnest } = field
  if (type === 'any') {
    if (!unnest) return { inside: [said(place)] }
    const lifted = (lift: readonly Lift[]) =>
      Object.fromEntries(
        lift.filter(({ type: of }) => of === 'text').map(({ column, keys }) => [keys[0]!, said(`${place}.${column}`)]),
      )
    const element = { ...lifted(unnest.lift), more: { inside: said(`${place}.more`) } }
    return unnest.over === 'elements' ? [element, said(`${place}.element`)] : { [said(`${place}.key`)]: element }
  }
  return ['text', 'loose', 'moment'].includes(type) ? said(place) : undefined
}

/** Returns a record with a canary in every text of its fields, and in a field that the catalog does not know. */
export const plantedFields = (fields: Fields, place: string): Record<string, unknown> => ({
  ...Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, planted(field, `${place}.${key}`)])),
  unknownField: said(`${place}.unknown`),
})

/** Returns `table.column` of every published column of personal data that contains texts. */
export const personalColumns = async (): Promise<string[]> =>
  (await publishedRelations()).flatMap(({ name, columns }) =>
    columns
      .filter(({ pii, sqlType }) => isPersonal(pii) && sqlType !== 'DOUBLE')
      .map(column => `${name}.${column.name}`),
  )

/** Returns a row in every table, with a canary in each column of personal data: also in tables that the API does not fill in a test. */
export async function plantCanaries(writer: Writer): Promise<void> {
  // Rows of marts are computed from the log, which does not contain planted rows.
  await refreshMarts(writer)
  const found = await writer.rows<{ name: string }>(
    `SELECT table_name AS name FROM duckdb_columns() WHERE column_name = '${RECORD_NUMBER.name}'`,
  )
  const numbered = new Set(found.map(({ name }) => name))
  for (const { name, columns, key } of await publishedRelations()) {
    const filled = columns.filter(column => isPersonal(column.pii) || key.includes(column.name))
    const row = new Map(filled.map(column => [column.name, plantedValue(name, column)]))
    if (name === 'conversation_observations') row.set('source', `'export'`).set('version', `TIMESTAMPTZ '2026-01-01'`)
    // Child rows are in the partition of their record and are joined with it by its number.
    if (numbered.has(name)) row.set(RECORD_NUMBER.name, '1000000')
    await writer.run(`INSERT INTO ${name} (${[...row.keys()].join(', ')}) VALUES (${[...row.values()].join(', ')})`)
  }
}

function plantedValue(table: string, { name, sqlType, pii }: DescribedColumn): string {
  if (sqlType === 'INTEGER') return '1'
  if (sqlType === 'DOUBLE') return '73.25'
  if (sqlType === 'DATE') return `DATE '2026-01-01'`
  if (sqlType === 'TIMESTAMPTZ') return `TIMESTAMPTZ '2026-01-01'`
  const text = isPersonal(pii) ? canary(`${table}.${name}`) : 'key'
  return sqlType === 'JSON' ? `'{"a": [{"b": "${text}"}]}'` : `'${text}'`
}

/** Returns canaries in the rows of all tables that `connection` reads from `sources`, which are names or files. */
async function inRows(connection: DuckDBConnection, sources: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (const source of sources) {
    const sql = `SELECT DISTINCT unnest(regexp_extract_all(lower(t::VARCHAR), '${PATTERN}')) FROM ${source} t`
    found.push(...((await connection.runAndReadAll(sql)).getRows().flat() as string[]))
  }
  return found
}

async function withDatabase<T>(path: string, work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
  const options = path === ':memory:' ? { threads: '1' } : { threads: '1', access_mode: 'READ_ONLY' }
  const instance = await DuckDBInstance.create(path, options)
  const connection = await instance.connect()
  try {
    return await work(connection)
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

const inSnapshot = (path: string): Promise<string[]> =>
  withDatabase(path, async connection => {
    const tables = await connection.runAndReadAll(`SELECT schema_name || '.' || table_name FROM duckdb_tables()`)
    const comments = ['duckdb_columns()', 'duckdb_tables()']
    return inRows(connection, [...(tables.getRows().flat() as string[]), ...comments])
  })

const listed = (files: readonly string[]): string => `[${files.map(file => `'${file}'`).join(', ')}]`

/** Groups files of the same columns: a table's partitions in one version, or its numbered files in a package. Other files are alone. */
function byTable(files: readonly string[]): string[][] {
  const tables = new Map<string, string[]>()
  for (const file of files) {
    const table = file.replace(/((\/[^/]+=[^/]*)+\/[^/]+|\.\d+\.parquet)$/, '')
    tables.set(table, [...(tables.get(table) ?? []), file])
  }
  return [...tables.values()]
}

/** Returns canaries in the values, and in the statistics and metadata of all files. */
const inParquet = (files: readonly string[]): Promise<string[]> =>
  withDatabase(':memory:', connection => {
    const all = listed(files)
    const values = byTable(files).map(table => `read_parquet(${listed(table)}, hive_partitioning = false)`)
    return inRows(connection, [...values, `parquet_metadata(${all})`, `parquet_kv_metadata(${all})`])
  })

/** Returns the files below a folder. */
export const below = (path: string): string[] =>
  statSync(path).isDirectory()
    ? readdirSync(path, { recursive: true, withFileTypes: true })
        .filter(entry => entry.isFile())
        .map(entry => join(entry.parentPath, entry.name))
    : [path]

/** Matches the first two bytes of gzip. */
const isPacked = (bytes: Buffer): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b

/** Returns canaries in bytes, also in gzip and in the escapes of JSON, which may be in a text within a text. */
export function inBytes(bytes: Buffer): string[] {
  const text = (isPacked(bytes) ? gunzipSync(bytes) : bytes).toString('latin1')
  const plain = text.replaceAll(/\\+u00([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
  return plain.toLowerCase().match(new RegExp(PATTERN, 'g')) ?? []
}

/** Returns all canaries in a file or folder, sorted. */
export async function canariesIn(path: string): Promise<string[]> {
  const files = below(path)
  const found = files.flatMap(file => [...inBytes(Buffer.from(file)), ...inBytes(readFileSync(file))])
  const parquet = files.filter(file => file.endsWith('.parquet'))
  if (parquet.length > 0) found.push(...(await inParquet(parquet)))
  for (const file of files.filter(name => name.endsWith('.duckdb'))) found.push(...(await inSnapshot(file)))
  return [...new Set(found)].sort()
}

/** Returns the path at which `packageKeeper` keeps the last package for a target. */
export const keptPackage = ({ path }: { path: string }): string => `${path}.package`

/** Returns the program of a target's process that copies each package with everything beside it, and then runs the real program. */
export function packageKeeper(home: string): URL {
  const file = join(home, 'keep-package.mjs')
  // Both handlers are in place before the first message arrives.
  const source = `import { cpSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import ${JSON.stringify(ENTRY.href)}
let settings
process.on('message', message => {
  if (message.kind === 'open') settings = message.settings
  if (message.kind !== 'complete') return
  rmSync(settings.target.path + '.package', { recursive: true, force: true })
  cpSync(dirname(settings.spillFolder), settings.target.path + '.package', { recursive: true })
})
`
  if (!existsSync(file)) writeFileSync(file, source)
  return new URL(`file://${file}`)
}
