import { join } from 'node:path'

/** Returns the path of the warehouse, or of another file in the data folder. */
export const warehouseFile = (home: string, name = 'warehouse.duckdb'): string => join(home, name)
