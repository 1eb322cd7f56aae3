// Section 4.9: voices of all providers.
import { expect } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import { PROVIDERS, type Voice } from '../../../src/sandbox/world/voices.ts'
import { exportPage, firstAgent } from '../caller.ts'
import { askVoices } from '../endpoints/voice-list.ts'
import { expectRefused, isServed, SAYS_NOTHING, type Section } from './sentences.ts'

/** All matches, over all pages. */
async function matches(sandbox: Sandbox, filters: Record<string, string> = {}): Promise<Voice[]> {
  const voices: Voice[] = []
  for (;;) {
    const { status, body } = await askVoices(sandbox, { ...filters, limit: 500, offset: voices.length })
    expect(status).toBe(200)
    voices.push(...body.voices)
    if (voices.length >= body.total || body.voices.length === 0) return voices
  }
}

const valuesOf = (voices: readonly Voice[], filter: keyof Voice['filters']) =>
  new Set(voices.map(({ filters }) => filters[filter]))

const ENGLISH = ['English', 'en', 'en-US', 'en-GB', 'en-AU', 'en-IN', 'en-IE']

export const VOICES: Section = {
  sentences: [
    ['is GET /v3/voices', isServed('GET /v3/voices')],
    [
      'the query has six parameters; limit is 1 to 500, offset at least 0, providers are divided by commas',
      async open => {
        const sandbox = await open()
        const filters = { language: 'en', gender: 'f', accent: 'british', providers: 'azure,rime' }
        const { body } = await askVoices(sandbox, { ...filters, limit: 1, offset: 0 })
        expect(body).toMatchObject({ limit: 1, offset: 0, providersQueried: ['azure', 'rime'], voices: [{}] })
        expect((await askVoices(sandbox, { limit: 500 })).status).toBe(200)
        for (const refused of [{ limit: 0 }, { limit: 501 }, { offset: -1 }, { limit: 'ten' }, { gender: 'x' }])
          expectRefused(await askVoices(sandbox, refused), 400)
      },
    ],
    [
      'the requested providers are asked, the filters apply together, then the paging',
      async open => {
        const sandbox = await open()
        const filters = { language: 'en', gender: 'f', accent: 'british', providers: 'azure,elevenlabs' }
        const found = await matches(sandbox, filters)
        expect(valuesOf(found, 'gender')).toEqual(new Set(['female']))
        expect(valuesOf(found, 'accent')).toEqual(new Set(['British']))
        expect(new Set(found.map(({ provider }) => provider))).toEqual(new Set(['azure', 'elevenlabs']))
        const { body } = await askVoices(sandbox, { ...filters, limit: 2, offset: 1 })
        expect([body.total, body.voices]).toEqual([found.length, found.slice(1, 3)])
        // Nothing that matches is missing.
        const all = (await matches(sandbox)).filter(({ provider }) => /azure|elevenlabs/.test(provider))
        const expected = all.filter(
          ({ filters: { accent, gender, language } }) =>
            accent === 'British' && gender === 'female' && ENGLISH.includes(language!),
        )
        expect(found).toEqual(expected)
      },
    ],
    [
      'a language is a short code, a tag or an English name; a short code matches variants and the name too',
      async open => {
        const sandbox = await open()
        const languages = async (language: string) => valuesOf(await matches(sandbox, { language }), 'language')
        for (const language of ['en', 'EN', 'English', 'english'])
          expect(await languages(language)).toEqual(new Set(ENGLISH))
        for (const tag of ['en-GB', 'en-gb']) expect(await languages(tag)).toEqual(new Set(['English', 'en', 'en-GB']))
        expect(await languages('German')).toEqual(await languages('de'))
        expect(await languages('xx')).toEqual(new Set())
      },
    ],
    [
      'a gender has four spellings beside three, in any case',
      async open => {
        const sandbox = await open()
        const spellings = {
          male: ['male', 'Masculine', 'M'],
          female: ['FEMALE', 'feminine', 'f'],
          neutral: ['Neutral'],
        }
        for (const [gender, spelled] of Object.entries(spellings))
          for (const spelling of spelled)
            expect(valuesOf(await matches(sandbox, { gender: spelling }), 'gender')).toEqual(new Set([gender]))
      },
    ],
    [
      'an accent matches by a part of it, in any case',
      async open => {
        const found = await matches(await open(), { accent: 'AUSTR' })
        expect(valuesOf(found, 'accent')).toEqual(new Set(['Australian', 'Austrian']))
      },
    ],
    [
      'without `providers` all are asked',
      async open => {
        const sandbox = await open()
        expect((await askVoices(sandbox)).body.providersQueried).toEqual(PROVIDERS)
        expect(new Set((await matches(sandbox)).map(({ provider }) => provider))).toEqual(new Set(PROVIDERS))
      },
    ],
    [
      'the answer has the total before paging, the paging, the providers and the voices',
      async open => {
        const sandbox = await open()
        const { body } = await askVoices(sandbox, { limit: 3, offset: 5 })
        expect(body).toEqual({
          total: (await matches(sandbox)).length,
          limit: 3,
          offset: 5,
          providersQueried: PROVIDERS,
          providersFailed: [],
          voices: expect.any(Array),
        })
        for (const voice of body.voices)
          expect(Object.keys(voice).sort().join(' ')).toBe('filters name previewUrl provider voiceId')
        expect((await askVoices(sandbox, { offset: 99_999 })).body.voices).toEqual([])
      },
    ],
    [
      'a provider that fails is named, and the request succeeds with the others',
      async open => {
        const sandbox = await open()
        sandbox.conditions.set({ failedProviders: ['azure', 'cartesia'] })
        const { status, body } = await askVoices(sandbox)
        expect([status, body.providersQueried, body.providersFailed]).toEqual([
          200,
          PROVIDERS,
          ['azure', 'cartesia'].map(provider => ({ provider, error: expect.any(String) })),
        ])
        const answered = new Set((await matches(sandbox)).map(({ provider }) => provider))
        expect(answered).toEqual(new Set(['elevenlabs', 'openai', 'rime']))
        expect((await askVoices(sandbox, { providers: 'openai' })).body.providersFailed).toEqual([])
      },
    ],
    [
      'it changes nothing and consumes nothing',
      async open => {
        const sandbox = await open()
        const before = await matches(sandbox)
        expect(await matches(sandbox)).toEqual(before)
        const { usage, rateLimit } = await exportPage(sandbox, firstAgent(sandbox))
        expect([usage.exportRequestCount, usage.billableUsedThisPeriod]).toEqual([1, usage.billableUsedThisRequest])
        expect(rateLimit.remainingHour).toBe(rateLimit.requestsPerHour - 1)
      },
    ],
    ['default of `limit`', SAYS_NOTHING],
  ],
}
