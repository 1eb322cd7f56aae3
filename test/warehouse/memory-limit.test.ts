import { expect, it } from 'vitest'
import { sizeOf } from '../../src/core/words.ts'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { temporaryFolder } from '../cli/cli-process.ts'

const LIMIT = '448MB'

it('DuckDB may use the configured memory, and more if a warehouse has outgrown it', async () => {
  const home = await temporaryFolder()
  const limitIn = async (sql?: string): Promise<number> => {
    const { writer, close } = await openWarehouse({ home, memoryLimit: LIMIT, threads: 2 })
    const [row] = await writer.rows<{ limit: string }>(`SELECT current_setting('memory_limit') AS "limit"`)
    if (sql) await writer.run(sql)
    await close()
    return sizeOf(row!.limit)
  }
  const [small, large] = [await limitIn('CREATE TABLE many AS SELECT true FROM range(40000000)'), await limitIn()]
  // DuckDB prints its limit with one decimal digit of MiB.
  expect(Math.abs(small - sizeOf(LIMIT))).toBeLessThan(2 ** 20)
  expect(Math.abs(large - 628_000_000)).toBeLessThan(2 ** 20)
})
