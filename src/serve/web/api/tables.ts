// The tables that SQL sees, with their columns.
import { getJson } from './client.ts'
import { useAnswer } from './resource.ts'

export interface DescribedTable {
  name: string
  about: string | null
  columns: { name: string; type: string; about: string | null; personalData: string | null }[]
}

export const useTables = () =>
  useAnswer('tables', async () => (await getJson<{ tables: DescribedTable[] }>('v1/tables')).tables)
