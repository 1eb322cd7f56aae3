// A reader's session may have any time zone. Views, marts and checks have the same rows in each.
import { expect, it } from 'vitest'
import { warehouseChecks } from '../../src/warehouse/checks/all-checks.ts'
import type { Row } from '../../src/warehouse/connection.ts'
import { expectTimeZones } from '../../src/warehouse/load/time-zone.ts'
import { marts } from '../../src/warehouse/marts/declarations.ts'
import { refreshMarts } from '../../src/warehouse/marts/refresh.ts'
import { sqlFiles } from '../../src/warehouse/sql-files.ts'
import { isDeep } from '../tier.ts'
import { corpusWarehouse } from './corpus/template.ts'

const app = corpusWarehouse()

/** Returns the rows of every view, mart and check. */
async function allRows(): Promise<Record<string, Row[]>> {
  const { writer } = app.warehouse
  const found: Record<string, Row[]> = {}
  const tables = [...sqlFiles('views').map(({ name }) => name), ...marts().map(({ name }) => `marts.${name}`)]
  for (const table of tables) found[table] = await writer.rows(`FROM ${table} ORDER BY ALL`)
  for (const { name, sql } of await warehouseChecks()) found[name] = await writer.rows(sql)
  return found
}

it('views, marts and checks have equal rows in sessions of any zone', async () => {
  const { writer } = app.warehouse
  // The corpus was built in UTC.
  const expected = await allRows()
  expect(expected['marts.fct_conversations']!.length).toBeGreaterThan(20)
  for (const zone of ['America/Los_Angeles', ...(isDeep ? ['Pacific/Auckland'] : [])]) {
    await writer.run(`SET TimeZone = '${zone}'`)
    await writer.run('DELETE FROM _marts')
    await refreshMarts(writer)
    expect(await allRows(), zone).toEqual(expected)
  }
})

it('a time zone that DuckDB does not know is refused by its workspace, before anything is requested', async () => {
  const { writer } = app.warehouse
  await expectTimeZones(writer, [{ id: 'w', timeZone: 'europe/berlin' }])
  for (const timeZone of ['+05:30', 'Mars/Olympus', 'localtime'])
    await expect(expectTimeZones(writer, [{ id: 'w', timeZone }])).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(`timeZone of workspace w is "${timeZone}"`) as string,
    })
})
