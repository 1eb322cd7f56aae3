import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Row } from '../../../src/warehouse/connection.ts'
import { AGENT } from '../landed-pages.ts'
import { recordRows } from '../record-rows.ts'
import { FOLDER, RECORDS, RECORDS_WORKSPACE, WORKSPACES, workspaceCase } from './cases.ts'
import { corpusWarehouse } from './template.ts'

const app = corpusWarehouse()

type Tables = Record<string, readonly Row[]>

/** Compares the tables with the case's file, which has a line for each row. */
const expectRows = (name: string, tables: Tables): Promise<void> => {
  const texts = Object.entries(tables).map(
    ([table, rows]) => `${JSON.stringify(table)}: [\n${rows.map(row => `  ${JSON.stringify(row)}`).join(',\n')}\n]`,
  )
  return expect(`{${texts.join(', ')}}\n`).toMatchFileSnapshot(join(FOLDER, `${name}.rows.json`))
}

const present = (row: Row): Row => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null))

describe('a page of records', () => {
  let rows: Record<string, Row[]>
  beforeAll(async () => {
    rows = await recordRows(app.corpus(RECORDS_WORKSPACE))
  })

  it.each(RECORDS)('%s: becomes exactly its rows', async name => {
    const own = Object.entries(rows).map(([table, all]) => {
      const found = all.filter(row => row.agent_id === name)
      return [table, found.map(row => ({ ...row, agent_id: AGENT }))] as const
    })
    await expectRows(name, Object.fromEntries(own.filter(([, found]) => found.length > 0)))
  })
})

describe('a workspace', () => {
  it.each(WORKSPACES)('%s: has exactly its rows', async name => {
    const { show } = workspaceCase(name)
    const workspace = app.corpus(name)
    const shown: Record<string, Row[]> = show ? {} : await recordRows(workspace)
    for (const [table, what] of Object.entries(show ?? {}))
      shown[table] = (await workspace.rows(table, what === '*' ? undefined : what)).map(present)
    await expectRows(name, shown)
  })
})
