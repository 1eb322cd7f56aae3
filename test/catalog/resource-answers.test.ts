import { describe, expect, it } from 'vitest'
import { CUSTOM_METRICS } from '../../src/catalog/resources/custom-metrics.ts'
import { ORGANIZATIONS } from '../../src/catalog/resources/organizations.ts'
import { answeredProviders, VOICES } from '../../src/catalog/resources/voices.ts'
import { readExactly } from '../../src/json/exact-json.ts'

describe('voices', () => {
  it('have a key even if the id is a number; without provider or id they have none', () => {
    const text = `{"voices": [{"provider": "p", "voiceId": "v"}, {"provider": "p", "voiceId": 7}, {"provider": "p", "voiceId": 12345678901234567890},
      {"provider": "p", "voiceId": ""}, {"voiceId": "v"}, {"provider": "p", "voiceId": {}}, null]}`
    const { voices } = VOICES.prepare(readExactly(text).value) as { voices: ({ _key?: string } | null)[] }
    const none = [undefined, undefined, undefined, undefined]
    expect(voices.map(voice => voice?._key)).toEqual(['p/v', 'p/7', 'p/12345678901234567890', ...none])
  })

  it('of a provider that failed are unknown, no matter how the failure is reported', () => {
    const answer = { providersQueried: ['a', 'b', 'c'], providersFailed: [{ provider: 'a', error: 'no key' }, 'b', 7] }
    expect(answeredProviders(answer)).toEqual(['c'])
    expect(answeredProviders({ providersFailed: null })).toBeNull()
  })
})

describe('a record that was requested by its id', () => {
  it.each([{}, { id: null }, { id: '' }])('has this id if the answer has none: %j', own => {
    const answer = { success: true, metric: { ...own, key: 'k' } }
    expect(CUSTOM_METRICS.prepare(answer, ['agent', 'met/1'])).toEqual({
      success: true,
      metric: { id: 'met/1', key: 'k' },
    })
  })

  it('keeps the id of the answer, and another shape stays as it is', () => {
    for (const answer of [
      { data: { ID: 'other' } },
      { data: { ID: 7 } },
      { data: [] },
      { data: null },
      [],
      null,
      'text',
    ])
      expect(ORGANIZATIONS.prepare(answer, ['o'])).toEqual(answer)
  })
})
