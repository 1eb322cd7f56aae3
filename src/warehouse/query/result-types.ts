// DuckDB's types as shapes.

import {
  type DuckDBArrayType,
  type DuckDBDecimalType,
  type DuckDBListType,
  type DuckDBMapType,
  type DuckDBStructType,
  type DuckDBType,
  DuckDBTypeId,
} from '@duckdb/node-api'
import type { Shape } from './results.ts'

const SCALARS: Partial<Record<DuckDBTypeId, Shape>> = {
  [DuckDBTypeId.BOOLEAN]: { kind: 'boolean' },
  [DuckDBTypeId.TINYINT]: { kind: 'integer', bits: 8, signed: true },
  [DuckDBTypeId.SMALLINT]: { kind: 'integer', bits: 16, signed: true },
  [DuckDBTypeId.INTEGER]: { kind: 'integer', bits: 32, signed: true },
  [DuckDBTypeId.BIGINT]: { kind: 'integer', bits: 64, signed: true },
  [DuckDBTypeId.HUGEINT]: { kind: 'integer', bits: 128, signed: true },
  [DuckDBTypeId.UTINYINT]: { kind: 'integer', bits: 8, signed: false },
  [DuckDBTypeId.USMALLINT]: { kind: 'integer', bits: 16, signed: false },
  [DuckDBTypeId.UINTEGER]: { kind: 'integer', bits: 32, signed: false },
  [DuckDBTypeId.UBIGINT]: { kind: 'integer', bits: 64, signed: false },
  [DuckDBTypeId.UHUGEINT]: { kind: 'integer', bits: 128, signed: false },
  [DuckDBTypeId.FLOAT]: { kind: 'float', bits: 32 },
  [DuckDBTypeId.DOUBLE]: { kind: 'float', bits: 64 },
  [DuckDBTypeId.TIMESTAMP]: { kind: 'timestamp', unit: 'us', zone: false },
  [DuckDBTypeId.TIMESTAMP_S]: { kind: 'timestamp', unit: 's', zone: false },
  [DuckDBTypeId.TIMESTAMP_MS]: { kind: 'timestamp', unit: 'ms', zone: false },
  [DuckDBTypeId.TIMESTAMP_NS]: { kind: 'timestamp', unit: 'ns', zone: false },
  [DuckDBTypeId.TIMESTAMP_TZ]: { kind: 'timestamp', unit: 'us', zone: true },
  [DuckDBTypeId.DATE]: { kind: 'date' },
  [DuckDBTypeId.BLOB]: { kind: 'blob' },
}

const JSON_ALIAS = 'JSON'

/** The shape of a column of that DuckDB type. */
export function shapeOf(type: DuckDBType): Shape {
  const scalar = SCALARS[type.typeId]
  if (scalar) return scalar
  switch (type.typeId) {
    case DuckDBTypeId.DECIMAL: {
      const { width, scale } = type as DuckDBDecimalType
      return { kind: 'decimal', width, scale }
    }
    case DuckDBTypeId.LIST:
      return { kind: 'list', item: shapeOf((type as DuckDBListType).valueType) }
    case DuckDBTypeId.ARRAY:
      return { kind: 'list', item: shapeOf((type as DuckDBArrayType).valueType) }
    case DuckDBTypeId.STRUCT:
      return { kind: 'struct', fields: structFields(type as DuckDBStructType) }
    case DuckDBTypeId.MAP: {
      const { keyType, valueType } = type as DuckDBMapType
      return { kind: 'map', key: shapeOf(keyType), value: shapeOf(valueType) }
    }
    default:
      return { kind: type.alias === JSON_ALIAS ? 'json' : 'text' }
  }
}

/** DuckDB's own name of the type, JSON included (which is VARCHAR under an alias). */
export function typeName(type: DuckDBType): string {
  return type.alias ?? type.toString()
}

const structFields = (type: DuckDBStructType) =>
  type.entryNames.map((name, at) => ({ name, shape: shapeOf(type.entryTypes[at]!) }))
