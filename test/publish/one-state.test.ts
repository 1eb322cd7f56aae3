// Tables, marts and models of a publication are of one state, although loads go on while it runs.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { folderOfFile } from '../of-file.ts'
import { rounds } from '../tier.ts'
import { temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'
import { newTarget, publishTo, rowsIn, SETTINGS } from './published.ts'
import { whileLoading } from './while-loading.ts'

const ROUNDS = rounds('ONE_STATE_RUNS', { usual: 0, deep: 60 })

const app = temporaryWarehouse()
const folder = await folderOfFile()

/** The second model reads the first, and both read tables and marts. */
const MODELS = {
  counted: `-- Counts.
-- key: place
-- columns:
--   place  none  Place
SELECT 'tables' AS place, count(*) AS n FROM conversations UNION ALL SELECT 'marts', count(*) FROM marts.fct_conversations`,
  counted_again: `-- Counts.
-- key: place
-- columns:
--   place  none  Place
SELECT place, n FROM models.counted UNION ALL SELECT 'again', count(*) FROM conversations`,
}

it.runIf(ROUNDS > 0)(
  'tables, marts and models of each publication have the same conversations, while conversations are loaded',
  async () => {
    for (const [name, sql] of Object.entries(MODELS)) await writeFile(join(folder, `${name}.sql`), sql)
    const target = newTarget(app.home)
    const settings = { ...SETTINGS, models: folder }
    await whileLoading(app.workspace(), async () => {
      for (let round = 0; round < ROUNDS; round++) {
        await publishTo(app, target, { settings, verify: round === 0 })
        const count = (table: string, n = 'count(*)') => rowsIn(target.path, `SELECT DISTINCT ${n}::INT FROM ${table}`)
        const tables = await count('conversations')
        expect(tables).not.toEqual([[0]])
        expect(await count('marts.fct_conversations')).toEqual(tables)
        expect(await count('models.counted_again', 'n')).toEqual(tables)
      }
    })
  },
)
