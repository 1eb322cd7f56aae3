import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { exitCodeOfReport } from '../../src/cli/sync/report.ts'
import { CANARY } from '../../src/sandbox/world/agents/secret-bearing.ts'
import { meddlingProxy } from '../workflows/meddling-proxy.ts'
import type { SimulatedApp } from '../workflows/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated-app.ts'

async function listings({ config }: SimulatedApp): Promise<string[]> {
  const folder = join(config.home, 'landing', 'ws_demo', 'agents')
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
}

describe('the listing of agents', () => {
  it('lands without the secrets that agents hold', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 10 } })
    const raw = await fetch(`${simulated.sandbox.url}/v3/agents/search`, {
      headers: { authorization: `Bearer ${simulated.config.workspaces[0]!.readToken()}` },
    })
    expect(await raw.text()).toContain(CANARY)
    await simulated.sync()
    const files = await listings(simulated)
    expect(files).toHaveLength(1)
    expect(gunzipSync(await readFile(files[0]!)).toString()).not.toContain(CANARY)
    expect(JSON.stringify(await simulated.rows('SELECT * FROM agents'))).not.toContain(CANARY)
  })

  it('lands once while it stays the same, and is one row an agent over many pages', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 10, agents: 230 } })
    const { agents } = await simulated.sync({ maxRequests: 0 }).then(async () => ({
      agents: await simulated.rows('SELECT agent_id FROM agents'),
    }))
    expect(agents).toHaveLength(230)
    const landed = await listings(simulated)
    expect(landed).toHaveLength(3)
    await simulated.sync({ maxRequests: 0 })
    expect(await listings(simulated)).toEqual(landed)
  })

  it('is taken from the warehouse where the vendor does not answer', async () => {
    let down = false
    const simulated = await simulatedApp({
      sandbox: { conversations: 20 },
      through: async sandbox => (await meddlingProxy(sandbox.url, () => undefined, { searchIsDown: () => down })).url,
    })
    await simulated.sync()
    down = true
    simulated.advance(3_600_000)
    expect(await simulated.sync()).toMatchObject({ outcome: 'done', windowsDone: 3 })
  })

  it('fails the sync where the vendor does not answer and no window is due: nothing was read', async () => {
    let down = false
    const simulated = await simulatedApp({
      sandbox: { conversations: 20 },
      through: async sandbox => (await meddlingProxy(sandbox.url, () => undefined, { searchIsDown: () => down })).url,
    })
    await simulated.sync()
    down = true
    const report = await simulated.sync()
    expect(report).toMatchObject({ outcome: 'failed', requests: 0, failures: [{ code: 'API_UNAVAILABLE' }] })
    expect(exitCodeOfReport(report)).toBe(5)
    const rows = await simulated.rows(
      'SELECT outcome, success, error_code FROM _runs ORDER BY started_at, requests DESC',
    )
    expect(rows).toEqual([
      { outcome: 'done', success: true, error_code: null },
      { outcome: 'failed', success: false, error_code: 'API_UNAVAILABLE' },
    ])
    down = false
    expect((await simulated.sync()).outcome).toBe('done')
  })

  it('fails where nothing is known yet and the vendor does not answer', async () => {
    const simulated = await simulatedApp({
      through: async sandbox => (await meddlingProxy(sandbox.url, () => undefined, { searchIsDown: () => true })).url,
    })
    await expect(simulated.sync()).rejects.toMatchObject({ code: 'API_UNAVAILABLE' })
  })
})
