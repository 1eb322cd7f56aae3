// A table or view in words.
import type { PiiClass } from '../../catalog/shape.ts'

export interface DescribedColumn {
  name: string
  sqlType: string
  about: string
  pii: PiiClass
  /** Path in the API's record, e.g. `csat.ease10`; null for a column of our own. */
  path: string | null
}

export interface DescribedTable {
  name: string
  kind: 'table' | 'view'
  about: string
  /** Queries of a mart. */
  example?: string
  columns: readonly DescribedColumn[]
}
