// A reader's session may have any time zone. Views, marts and checks have the same rows in each.
import { expect, it } from 'vitest'
import { warehouseChecks } from '../../src/warehouse/checks/all-checks.ts'
import type { Row } from '../../src/warehouse/connection.ts'
import { marts } from '../../src/warehouse/marts/declarations.ts'
import { refreshMarts } from '../../src/warehouse/marts/refresh.ts'
import { sqlFiles } from '../../src/warehouse/sql-files.ts'
import { isDeep } from '../tier.ts'
import { corpusWarehouse } from './corpus/template.ts'

const app = corpusWarehouse()

/** Rows of every view, mart and check, the marts computed again, in a session of that time zone. */
async function rowsIn(timeZone: string): Promise<Record<string, Row[]>> {
  const { writer } = app.warehouse
  await writer.run(`SET TimeZone = '${timeZone}'`)
  await writer.run('DELETE FROM _marts')
  await refreshMarts(writer)
  const found: Record<string, Row[]> = {}
  const tables = [...sqlFiles('views').map(({ name }) => name), ...marts().map(({ name }) => `marts.${name}`)]
  for (const table of tables) found[table] = await writer.rows(`FROM ${table} ORDER BY ALL`)
  for (const { name, sql } of await warehouseChecks()) found[name] = await writer.rows(sql)
  return found
}

it('views, marts and checks have equal rows in sessions of any zone', async () => {
  const expected = await rowsIn('UTC')
  expect(expected['marts.fct_conversations']!.length).toBeGreaterThan(20)
  for (const zone of ['America/Los_Angeles', ...(isDeep ? ['Pacific/Auckland'] : [])])
    expect(await rowsIn(zone), zone).toEqual(expected)
})
