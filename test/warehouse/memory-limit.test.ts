import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { sizeOf } from '../../src/core/words.ts'
import { limitOf, openWarehouse } from '../../src/warehouse/open.ts'

const LIMIT = '448MB'

async function limitIn(home: string): Promise<number> {
  const { writer, close } = await openWarehouse({ home, memoryLimit: LIMIT, threads: 2 })
  const [row] = await writer.rows<{ limit: string }>(`SELECT current_setting('memory_limit') AS "limit"`)
  await close()
  return sizeOf(row!.limit)
}

it('DuckDB may use the configured memory, and more if a warehouse has outgrown it', async () => {
  const home = await mkdtemp(join(tmpdir(), 'convohouse-'))
  try {
    // DuckDB prints its limit with one decimal digit of MiB.
    expect(Math.abs((await limitIn(home)) - sizeOf(LIMIT))).toBeLessThan(2 ** 20)
    const { writer, close } = await openWarehouse({ home, memoryLimit: LIMIT, threads: 2 })
    await writer.run('CREATE TABLE many AS SELECT true AS row FROM range(40000000)')
    await close()
    expect(limitOf(LIMIT, 40_000_000)).toBe(628_000_000)
    expect(Math.abs((await limitIn(home)) - 628_000_000)).toBeLessThan(2 ** 20)
  } finally {
    await rm(home, { recursive: true })
  }
})
