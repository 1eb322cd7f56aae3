import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { exitCodeOfReport } from '../../src/cli/sync/report.ts'
import { CANARY } from '../../src/sandbox/world/agents/secret-bearing.ts'
import { observingProxy } from '../workflows/simulated/observing-proxy.ts'
import type { SimulatedApp } from '../workflows/simulated/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'

async function listings({ config }: SimulatedApp): Promise<string[]> {
  const folder = join(config.home, 'landing', 'ws_demo', 'agents')
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
}

describe('the listing of agents', () => {
  it('lands without the secrets of agents, once while it is unchanged, and has one row per agent over several pages', async () => {
    const simulated = await simulatedApp({
      sandbox: { conversations: 10, agents: 7, readings: { 'agent-page': '3' } },
    })
    const raw = await fetch(`${simulated.sandbox.url}/v3/agents/search`, {
      headers: { authorization: `Bearer ${simulated.config.workspaces[0]!.readToken()}` },
    })
    expect(await raw.text()).toContain(CANARY)
    await simulated.sync()
    const files = await listings(simulated)
    expect(files).toHaveLength(3)
    for (const file of files) expect(gunzipSync(await readFile(file)).toString()).not.toContain(CANARY)
    const rows = await simulated.rows('SELECT * FROM agents')
    expect(rows).toHaveLength(7)
    expect(JSON.stringify(rows)).not.toContain(CANARY)
    await simulated.sync({ maxRequests: 0 })
    expect(await listings(simulated)).toEqual(files)
  })

  it('is read from the warehouse if the vendor does not answer; the sync fails if nothing is stored or no window is due', async () => {
    let down = true
    const simulated = await simulatedApp({
      sandbox: { conversations: 20 },
      through: ({ url }) =>
        observingProxy(url, ({ pathname }) => (down && pathname.endsWith('/agents/search') ? 503 : undefined)),
    })
    await expect(simulated.sync()).rejects.toMatchObject({ code: 'API_UNAVAILABLE' })
    down = false
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
    simulated.advance(3_600_000)
    expect(await simulated.sync()).toMatchObject({ outcome: 'done', windowsDone: 3 })
    down = false
    expect((await simulated.sync()).outcome).toBe('done')
  })
})
