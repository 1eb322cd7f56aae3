// Golden pairs: `NAME.records.json` holds the records of one page, `NAME.rows.json` the expected rows. A new case is a new file of
// records; the first run writes its rows, which must be reviewed before they are committed.
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Row } from '../../../src/warehouse/connection.ts'
import { AGENT, freshWindow, landConversations } from '../landed-pages.ts'
import { recordRows } from '../record-rows.ts'
import { temporaryWarehouse } from '../temporary-warehouse.ts'

const folder = join(import.meta.dirname, '../../golden')
const cases = readdirSync(folder).flatMap(name =>
  name.endsWith('.records.json') ? [basename(name, '.records.json')] : [],
)

const app = temporaryWarehouse()

describe('a page of golden records', () => {
  let rows: Record<string, Row[]>
  // One load for all cases: each case is the page of an agent that is named after it.
  beforeAll(async () => {
    const workspace = app.workspace()
    const pages = cases.map(agentId => {
      // The text itself, because a case may hold what no JavaScript value can: digits of large numbers, a duplicate key.
      const body = `{"data":${readFileSync(join(folder, `${agentId}.records.json`), 'utf8')}}`
      return landConversations(workspace.landing, { body, window: freshWindow({ agentId }) })
    })
    await workspace.load(...(await Promise.all(pages)))
    rows = await recordRows(workspace)
  })

  it.each(cases)('%s: becomes exactly its golden rows', async name => {
    const own = Object.entries(rows).flatMap(([table, all]) => {
      const found = all.filter(row => row.agent_id === name)
      return found.length === 0 ? [] : [[table, found.map(row => ({ ...row, agent_id: AGENT }))] as const]
    })
    await expect(`${JSON.stringify(Object.fromEntries(own), null, 2)}\n`).toMatchFileSnapshot(
      join(folder, `${name}.rows.json`),
    )
  })
})
