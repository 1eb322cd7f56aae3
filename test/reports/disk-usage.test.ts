import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { warehouseSize } from '../../src/files/stored-bytes.ts'
import { openWarehouse } from '../../src/warehouse/open.ts'

it('the size of a warehouse is that of its file and its log, and zero if there is none', async () => {
  const home = await mkdtemp(join(tmpdir(), 'convohouse-'))
  onTestFinished(() => rm(home, { recursive: true }))
  expect(await warehouseSize(join(home, 'warehouse.duckdb'))).toBe(0)
  const { file, writer, close } = await openWarehouse({ home, memoryLimit: '500MB', threads: 1 })
  await writer.run('CREATE TABLE filler AS SELECT uuid()::VARCHAR AS text FROM range(20000)')
  const bytes = (await stat(file)).size
  expect(await warehouseSize(file)).toBeGreaterThan(bytes + 500_000)
  await close()
  expect(await warehouseSize(file)).toBe((await stat(file)).size)
})
