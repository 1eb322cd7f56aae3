// Answers that refuse access: a deleted agent, an unpaid workspace, a wrong token.

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { RESOURCE_NAMES } from '../../../src/config/resources.ts'
import { MINUTE } from '../../../src/core/time.ts'
import { meddlingProxy } from '../simulated/meddling-proxy.ts'
import { START_MS, TOKEN } from '../simulated/open-simulated-app.ts'
import { simulatedApp } from '../simulated/simulated-app.ts'
import { readThrough, truthOf } from '../simulated/truth.ts'

const envelope = (code: string) => JSON.stringify({ message: code, code, issues: [] })

describe('an agent that is gone', () => {
  it('is marked as missing while the others are read, and the token is in no file of the data folder', async () => {
    let gone = ''
    const simulated = await simulatedApp({
      sandbox: { conversations: 60 },
      settings: { resources: RESOURCE_NAMES },
      through: async sandbox => {
        gone = sandbox.world.agentIds()[1]!
        const refusal = { answer: { status: 404, body: envelope('NOT_FOUND') } }
        return (await meddlingProxy(sandbox.url, ({ agentId }) => (agentId === gone ? refusal : undefined))).url
      },
    })
    const report = await simulated.sync()
    expect(report).toMatchObject({ outcome: 'done', agentsGone: [gone], failures: [] })
    const agents = await simulated.rows(
      'SELECT agent_id AS id, _missing_since IS NOT NULL AS gone FROM agents ORDER BY agent_id',
    )
    expect(agents).toHaveLength(3)
    expect(agents.filter(agent => agent.gone)).toEqual([{ id: gone, gone: true }])
    const truth = truthOf(simulated.sandbox, { throughMs: readThrough(START_MS, 2 * MINUTE) })
    const [row] = await simulated.rows('SELECT count(*)::INTEGER AS n FROM conversations')
    expect(row!.n).toBe(truth.filter(one => one.agentId !== gone).length)

    await simulated.close()
    const names = await readdir(simulated.config.home, { recursive: true, withFileTypes: true })
    const files = names.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
    expect(files.length).toBeGreaterThan(4)
    for (const file of files) {
      const bytes = await readFile(file)
      const text = file.endsWith('.gz') ? gunzipSync(bytes) : bytes
      expect(text.includes(TOKEN), file).toBe(false)
    }
  })
})

describe('a sync of an unpaid workspace', () => {
  it('fails once each agent was refused, and requests nothing more', async () => {
    const simulated = await simulatedApp({ sandbox: { paid: false } })
    const report = await simulated.sync()
    expect(report.outcome).toBe('failed')
    expect(report.failures).toMatchObject([{ code: 'API_FORBIDDEN', kind: 'access', agentId: null }])
    expect(report.failures[0]!.hint).toMatch(/\w/)
    expect((await simulated.served()).map(({ agentId }) => agentId).sort()).toEqual(
      simulated.sandbox.world.agentIds().toSorted(),
    )
  })
})

describe('a token that is not accepted', () => {
  it('ends the run before anything is exported, and is in no error', async () => {
    const simulated = await simulatedApp({ settings: { readToken: () => 'another-secret-token' } })
    const error = await simulated.sync().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'API_UNAUTHORIZED', kind: 'access' })
    expect(JSON.stringify([error, String(error), (error as Error).stack])).not.toMatch(/another-secret-token/)
    expect(await simulated.served()).toEqual([])
  })
})
