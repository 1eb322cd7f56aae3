import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openApp } from '../../src/app.ts'
import { replay } from '../../src/run/replay.ts'
import { warehouseFile } from '../../src/warehouse/open.ts'
import type { SimulatedApp } from '../workflows/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated-app.ts'
import { asLines, warehouseTables } from '../workflows/warehouse-tables.ts'

async function tablesOf({ config }: SimulatedApp): Promise<Record<string, string[]>> {
  const app = await openApp({ config })
  try {
    return asLines(await warehouseTables(app.warehouse.writer.rows))
  } finally {
    await app.close()
  }
}

async function synced(): Promise<SimulatedApp> {
  const simulated = await simulatedApp({ sandbox: { conversations: 120 } })
  await simulated.sync()
  await simulated.close()
  return simulated
}

describe('a replay', () => {
  it('that would end with fewer rows fails, names them, and keeps the warehouse; with --allow-incomplete it keeps the rows', async () => {
    const simulated = await synced()
    const app = await openApp({ config: simulated.config })
    await app.warehouse.writer.run(`INSERT INTO conversations (workspace_id, agent_id, conversation_id, _complete, _fetched_at, _record)
      SELECT workspace_id, agent_id, 'told by nothing that landed', true, _fetched_at, _record + 1000000 FROM conversations LIMIT 1`)
    await app.close()
    const before = await tablesOf(simulated)
    await expect(replay({ config: simulated.config })).rejects.toMatchObject({
      code: 'REPLAY_LOSES_ROWS',
      exitCode: 6,
      message: expect.stringMatching(/1 of conversations \(".* told by nothing that landed"\)/) as string,
    })
    expect(await tablesOf(simulated)).toEqual(before)
    expect((await readdir(simulated.config.home)).filter(name => name.includes('rebuilt'))).toEqual([])
    await replay({ config: simulated.config, allowIncomplete: true })
    expect(await tablesOf(simulated)).toEqual(before)
  })

  it('may be repeated, and changes nothing', async () => {
    const simulated = await synced()
    const before = await tablesOf(simulated)
    await replay({ config: simulated.config })
    await replay({ config: simulated.config })
    expect(await tablesOf(simulated)).toEqual(before)
  })

  it('makes a warehouse where there is none', async () => {
    const simulated = await synced()
    const before = await tablesOf(simulated)
    await rm(warehouseFile(simulated.config.home))
    const report = await replay({ config: simulated.config })
    expect(report).toMatchObject({ quarantined: 0, records: expect.any(Number) as number })
    expect(await tablesOf(simulated)).toEqual(before)
  })

  it('leaves the old warehouse as it is when a page cannot be read, and names the page', async () => {
    const simulated = await synced()
    const before = await tablesOf(simulated)
    const folder = join(simulated.config.home, 'landing', 'ws_demo', 'conversations')
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    const page = entries.find(entry => entry.isFile())!
    await writeFile(join(page.parentPath, page.name), 'no page')
    await expect(replay({ config: simulated.config })).rejects.toMatchObject({
      code: 'LANDING_CORRUPT',
      message: expect.stringContaining(page.name) as string,
    })
    expect(await tablesOf(simulated)).toEqual(before)
    expect((await readdir(simulated.config.home)).filter(name => name.includes('rebuilt'))).toEqual([])
  })
})
