// A replay creates or replaces the warehouse file; a failed one leaves the existing file unchanged.
import { mkdirSync, rmSync } from 'node:fs'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openApp } from '../../src/app.ts'
import { replay } from '../../src/run/replay.ts'
import { warehouseFile } from '../../src/warehouse/open.ts'
import type { SimulatedApp } from '../workflows/simulated/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'
import { asLines, warehouseTables } from '../workflows/simulated/warehouse-tables.ts'

async function tablesOf({ config }: SimulatedApp): Promise<Record<string, string[]>> {
  const app = await openApp({ config })
  try {
    return asLines(await warehouseTables(app.warehouse.writer.rows))
  } finally {
    await app.close()
  }
}

describe('a replay', () => {
  it('builds a missing warehouse and can be repeated; it leaves an existing one if a page cannot be read, or if rows would be lost without permission', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 40 } })
    const { config } = simulated
    await simulated.sync()
    const before = asLines(await warehouseTables(simulated.rows))
    await simulated.close()
    const rebuilt = async () => (await readdir(config.home)).filter(name => name.includes('rebuilt'))

    const folder = join(config.home, 'landing', 'ws_demo', 'conversations')
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    const { parentPath, name } = entries.find(entry => entry.isFile())!
    const page = await readFile(join(parentPath, name))
    await writeFile(join(parentPath, name), 'no page')
    await expect(replay({ config })).rejects.toMatchObject({
      code: 'LANDING_CORRUPT',
      message: expect.stringContaining(name) as string,
    })
    expect(await tablesOf(simulated)).toEqual(before)
    expect(await rebuilt()).toEqual([])
    await writeFile(join(parentPath, name), page)

    await rm(warehouseFile(config.home))
    expect(await replay({ config })).toMatchObject({ quarantined: 0, records: expect.any(Number) as number })
    expect(await tablesOf(simulated)).toEqual(before)

    const app = await openApp({ config })
    await app.warehouse.writer.run(`INSERT INTO conversations (workspace_id, agent_id, conversation_id, _complete, _fetched_at, _record)
      SELECT workspace_id, agent_id, 'in no landed page', true, _fetched_at, _record + 1000000 FROM conversations LIMIT 1`)
    const withOne = asLines(await warehouseTables(app.warehouse.writer.rows))
    await app.close()
    expect(withOne).not.toEqual(before)
    await expect(replay({ config })).rejects.toMatchObject({
      code: 'REPLAY_LOSES_ROWS',
      exitCode: 6,
      message: expect.stringMatching(/1 of conversations \(".* in no landed page"\)/) as string,
    })
    expect(await tablesOf(simulated)).toEqual(withOne)
    expect(await rebuilt()).toEqual([])
    await replay({ config, allowIncomplete: true })
    expect(await tablesOf(simulated)).toEqual(withOne)
  })

  it('leaves the old warehouse and its log if the log cannot be removed', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 10 } })
    const { config } = simulated
    await simulated.sync()
    await simulated.close()
    const file = warehouseFile(config.home)
    const log = `${file}.wal`
    const before = await tablesOf(simulated)
    // DuckDB removes any file of that name when it closes, but no folder.
    const onProgress = () => {
      rmSync(log, { recursive: true, force: true })
      mkdirSync(log)
    }
    await expect(replay({ config, onProgress })).rejects.toMatchObject({ code: 'HOME_UNUSABLE' })
    expect(await readdir(config.home)).toContain('warehouse.duckdb.wal')
    expect((await readdir(config.home)).filter(name => name.includes('rebuilt'))).toEqual([])
    rmSync(log, { recursive: true })
    expect(await tablesOf(simulated)).toEqual(before)
  })
})
