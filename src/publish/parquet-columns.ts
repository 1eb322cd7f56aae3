// Types of columns in the files of a target `parquet` that DuckDB, Arrow, pandas, Polars and Spark read alike.
import { quoteName, quoteText } from '../catalog/layout.ts'
import { PANDAS_KEY, pandasMetadata } from '../warehouse/query/formats/pandas-metadata.ts'
import type { Shape } from '../warehouse/query/results.ts'

interface PackagedColumn {
  name: string
  sqlType: string
}

const SHAPES: Record<string, Shape> = {
  BIGINT: { kind: 'integer', bits: 64 },
  BOOLEAN: { kind: 'boolean' },
  DATE: { kind: 'date' },
  DOUBLE: { kind: 'float' },
  INTEGER: { kind: 'integer', bits: 32 },
  // Text, because readers share no JSON type.
  JSON: { kind: 'text' },
  TIMESTAMPTZ: { kind: 'timestamp', zone: true },
  VARCHAR: { kind: 'text' },
}

/** @throws Error for types that no column has had so far, such as HUGEINT, which DuckDB would write as DOUBLE */
export function shapeOf(sqlType: string): Shape {
  if (sqlType.endsWith('[]')) return { kind: 'list', item: shapeOf(sqlType.slice(0, -2)) }
  const shape = SHAPES[sqlType]
  if (!shape) throw new Error(`${sqlType} has no type in Parquet files of publications: add it to parquet-columns.ts`)
  return shape
}

/** Larger row groups need more memory for wide tables; smaller ones compress less. Level 3 takes a seventh longer and saves 3 %. */
export const PUBLISHED_FORMAT = 'FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE 8192'

/** Returns the SQL of a column's value in the form in which it is written. */
export function writtenValue(value: string, { sqlType }: Pick<PackagedColumn, 'sqlType'>): string {
  const written = sqlType.replace(/^JSON/, 'VARCHAR')
  return written === sqlType ? value : `(${value})::${written}`
}

/** Returns a SELECT of the written columns that yields no rows. */
export function selectNothing(columns: readonly PackagedColumn[]): string {
  const nulls = columns.map(column => `${writtenValue(`NULL::${column.sqlType}`, column)} AS ${quoteName(column.name)}`)
  return `SELECT ${nulls.join(', ')} WHERE false`
}

/** Returns a COPY option with metadata that lets pandas read nullable integers and booleans with their own types. */
export const pandasOption = (columns: readonly PackagedColumn[]): string => {
  const shaped = columns.map(({ name, sqlType }) => ({ name, shape: shapeOf(sqlType) }))
  return `KV_METADATA {${PANDAS_KEY}: ${quoteText(pandasMetadata(shaped))}}`
}
