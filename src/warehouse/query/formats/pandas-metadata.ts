// The schema metadata that pandas reads (`pandas.read_parquet`, `read_feather`). Without it, pandas turns integers with
// a NULL into floats, which lose digits, and booleans with a NULL into objects. Other readers ignore it. Format:
// https://pandas.pydata.org/docs/development/developer.html#storing-pandas-dataframe-objects-in-apache-parquet-format
import type { Column, Shape } from '../results.ts'

/** Key of the metadata, in Arrow and in Parquet. */
export const PANDAS_KEY = 'pandas'

interface PandasType {
  /** The logical type. */
  pandas: string
  /** The dtype of the column in pandas. */
  numpy: string
  metadata?: object
}

/** Returns nullable dtypes for integers and booleans even without NULLs, so that the dtype does not depend on the rows. */
function pandasType(shape: Shape): PandasType {
  switch (shape.kind) {
    case 'boolean':
      return { pandas: 'bool', numpy: 'boolean' }
    case 'integer':
      return { pandas: `int${shape.bits}`, numpy: `Int${shape.bits}` }
    case 'float':
      return { pandas: 'float64', numpy: 'float64' }
    case 'decimal':
      return { pandas: 'decimal', numpy: 'object', metadata: { precision: shape.width, scale: shape.scale } }
    case 'timestamp':
      return shape.zone
        ? { pandas: 'datetimetz', numpy: 'datetime64[us]', metadata: { timezone: 'UTC' } }
        : { pandas: 'datetime', numpy: 'datetime64[us]' }
    case 'date':
      return { pandas: 'date', numpy: 'object' }
    case 'blob':
      return { pandas: 'bytes', numpy: 'object' }
    case 'json':
    case 'text':
      return { pandas: 'unicode', numpy: 'object' }
    default:
      return { pandas: 'object', numpy: 'object' }
  }
}

/** Returns the metadata of a result, as JSON. pandas numbers rows from 0; no column becomes the index. */
export function pandasMetadata(columns: readonly Pick<Column, 'name' | 'shape'>[]): string {
  return JSON.stringify({
    index_columns: [],
    column_indexes: [],
    columns: columns.map(({ name, shape }) => {
      const { pandas, numpy, metadata = null } = pandasType(shape)
      return { name, field_name: name, pandas_type: pandas, numpy_type: numpy, metadata }
    }),
    creator: { library: 'convohouse' },
    pandas_version: '1.0.0',
  })
}
