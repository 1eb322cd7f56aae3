import { describe, expect, it } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import { CANARY } from '../../../src/sandbox/world/agents/secret-bearing.ts'
import { PROVIDERS, type Voice } from '../../../src/sandbox/world/voices.ts'
import { DAY, open } from '../caller.ts'
import { ask } from './writer.ts'

interface Listed {
  total: number
  limit: number
  offset: number
  providersQueried: string[]
  providersFailed: { provider: string; error: string }[]
  voices: Voice[]
}

const list = async (sandbox: Sandbox, params: Record<string, string | number> = {}) => {
  const query = new URLSearchParams(
    Object.entries(params).map(([name, value]): [string, string] => [name, String(value)]),
  )
  return (await ask<Listed>(sandbox, 'GET', `/v3/voices?${query}`)).body
}

/** The languages of all matches, as their providers write them. */
const languages = async (sandbox: Sandbox, language: string) => {
  const { voices, total } = await list(sandbox, { language, limit: 500 })
  expect(voices).toHaveLength(total)
  return new Set(voices.map(({ filters }) => filters.language))
}

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

  it.each(['en', 'EN', 'English', 'english'])(
    'of the language %s include its variants and its name',
    async language => {
      const found = await languages(await open(), language)
      expect(found).toEqual(new Set(['English', 'en', 'en-US', 'en-GB', 'en-AU', 'en-IN', 'en-IE']))
    },
  )

  it('of a region are those of the region, and those of the language without one', async () => {
    expect(await languages(await open(), 'en-gb')).toEqual(new Set(['English', 'en', 'en-GB']))
  })

  it('of an unknown language are none', async () => {
    expect(await list(await open(), { language: 'xx' })).toMatchObject({ total: 0, voices: [] })
  })

  it.each([
    ['male', 'male'],
    ['Masculine', 'male'],
    ['M', 'male'],
    ['feminine', 'female'],
    ['f', 'female'],
    ['NEUTRAL', 'neutral'],
  ])('of the gender %s are %s', async (gender, expected) => {
    const { voices } = await list(await open(), { gender, limit: 500 })
    expect(new Set(voices.map(({ filters }) => filters.gender))).toEqual(new Set([expected]))
  })

  it('of an accent contain its text in any case', async () => {
    const { voices } = await list(await open(), { accent: 'AUSTR', limit: 500 })
    expect(new Set(voices.map(({ filters }) => filters.accent))).toEqual(new Set(['Australian', 'Austrian']))
  })

  it('match all filters together, of the requested providers', async () => {
    const filters = { language: 'en', gender: 'f', accent: 'british', providers: 'azure, rime' }
    const { voices, providersQueried } = await list(await open(), { ...filters, limit: 500 })
    expect(providersQueried).toEqual(['azure', 'rime'])
    expect(voices.length).toBeGreaterThan(0)
    for (const voice of voices)
      expect(voice).toMatchObject({ filters: { language: 'en-GB', gender: 'female', accent: 'British' } })
  })

  it.each(['limit=0', 'limit=501', 'offset=-1', 'limit=ten', 'gender=x', 'providers=nobody'])(
    'are refused for %s',
    async query => {
      const { status, body } = await ask(await open(), 'GET', `/v3/voices?${query}`)
      expect([status, body]).toMatchObject([400, { code: 'BAD_REQUEST', issues: [{}] }])
    },
  )

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
