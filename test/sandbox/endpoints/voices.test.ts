import { describe, expect, it } from 'vitest'
import { CANARY } from '../../../src/sandbox/world/agents/secret-bearing.ts'
import { PROVIDERS } from '../../../src/sandbox/world/voices.ts'
import { DAY, open } from '../caller.ts'
import { askVoices } from './voice-list.ts'
import { ask } from './writer.ts'

const list = async (...asked: Parameters<typeof askVoices>) => (await askVoices(...asked)).body

describe('the voices', () => {
  it('are paged after they are counted: 50 by default, up to 500', async () => {
    const sandbox = await open()
    const first = await list(sandbox)
    expect(first).toMatchObject({ limit: 50, offset: 0, providersQueried: PROVIDERS, providersFailed: [] })
    expect(first.voices).toHaveLength(50)
    const all = [await list(sandbox, { limit: 500 }), await list(sandbox, { limit: 500, offset: 500 })]
    const voices = all.flatMap(page => page.voices)
    expect([all[0]!.total, all[1]!.total]).toEqual([voices.length, voices.length])
    expect(new Set(voices.map(({ voiceId }) => voiceId)).size).toBe(voices.length)
    expect((await list(sandbox, { offset: 10, limit: 5 })).voices).toEqual(voices.slice(10, 15))
    expect(await list(sandbox, { offset: 9_999 })).toMatchObject({ total: voices.length, voices: [] })
  })

  it('include those of the agents, and change over time', async () => {
    const sandbox = await open()
    const ids = async () => (await list(sandbox, { limit: 500 })).voices.map(({ voiceId }) => voiceId)
    const before = await ids()
    const speech = sandbox.world.agentIds().map(id => {
      const { speechGen } = sandbox.world.agent(id)!.voiceConfig as { speechGen: { provider: string; voiceId: string } }
      return speechGen
    })
    for (const { provider, voiceId } of speech) {
      const { voices } = await list(sandbox, { providers: provider, limit: 500 })
      expect(voices.map(voice => voice.voiceId)).toContain(voiceId)
    }
    sandbox.clock.advance(200 * DAY)
    const after = await ids()
    expect([before.every(id => after.includes(id)), after.every(id => before.includes(id))]).toEqual([false, false])
  })

  it.each(['limit=ten', 'providers=nobody'])('are refused for %s', async query => {
    const { status, body } = await ask(await open(), 'GET', `/v3/voices?${query}`)
    expect([status, body]).toMatchObject([400, { code: 'BAD_REQUEST', issues: [{}] }])
  })

  it('of a provider that fails are missing, and the request succeeds', async () => {
    const sandbox = await open()
    sandbox.conditions.set({ failedProviders: ['azure', 'cartesia'] })
    const { voices, providersQueried, providersFailed, total } = await list(sandbox, { limit: 500 })
    expect(providersQueried).toEqual(PROVIDERS)
    expect(providersFailed.map(({ provider }) => provider)).toEqual(['azure', 'cartesia'])
    for (const { error } of providersFailed) expect(error).toContain(CANARY)
    expect([total, new Set(voices.map(({ provider }) => provider))]).toEqual([
      voices.length,
      new Set(['elevenlabs', 'openai', 'rime']),
    ])
    expect((await list(sandbox, { providers: 'openai' })).providersFailed).toEqual([])
    sandbox.conditions.set({ failedProviders: [] })
    expect((await list(sandbox)).providersFailed).toEqual([])
  })
})
