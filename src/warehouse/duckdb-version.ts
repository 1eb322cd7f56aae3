import { version } from '@duckdb/node-api'

/** Of the DuckDB that is built in: `v1.5.5`. */
export const duckdbVersion = (): string => version()
