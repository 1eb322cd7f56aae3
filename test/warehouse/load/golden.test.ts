// Golden pairs: `NAME.records.json` holds the records of one page, `NAME.rows.json` the rows that come of them. A new
// case is a new file of records; its rows are written by the first run, and are to be read before they are committed.
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { landConversations } from '../landed-pages.ts'
import { recordRows } from '../record-rows.ts'
import { temporaryWarehouse } from '../temporary-warehouse.ts'

const folder = join(import.meta.dirname, '../../golden')
const cases = readdirSync(folder).flatMap(name =>
  name.endsWith('.records.json') ? [basename(name, '.records.json')] : [],
)

const app = temporaryWarehouse()

describe('a page of golden records', () => {
  it.each(cases)('%s: becomes exactly its golden rows', async name => {
    // The text itself, so that a case may hold what no JavaScript value does: digits of large numbers, a key twice.
    const body = `{"data":${readFileSync(join(folder, `${name}.records.json`), 'utf8')}}`
    const workspace = app.workspace()
    await workspace.load(await landConversations(workspace.landing, { body }))
    const rows = `${JSON.stringify(await recordRows(workspace), null, 2)}\n`
    await expect(rows).toMatchFileSnapshot(join(folder, `${name}.rows.json`))
  })
})
