// Voices of all providers in one list (sections 2.5 and 4.9), and how each provider answered. A provider that fails is
// named in the answer, which then lacks its voices.
import { DAY } from '../../core/time.ts'
import { isObject } from '../inspection/inspect.ts'
import type { RecordType } from '../shape.ts'
import { boolean, group, text, time } from '../shape.ts'
import type { Resource } from './resource.ts'
import { idOf } from './resource.ts'

const KEY = '_key'

const voice: RecordType = {
  name: 'voice',
  table: 'voices',
  about: 'One row for each voice of a provider, as the latest list returned it',
  // The document does not say that ids are unique across providers.
  id: { key: KEY, column: 'voice_key' },
  fields: {
    [KEY]: text('Provider and id of the voice', { column: 'voice_key' }),
    provider: text('Provider'),
    voiceId: text('Id of the voice at its provider'),
    name: text('Name'),
    previewUrl: text('Address of a sample, an MP3', { pii: 'content' }),
    filters: group(
      'Facts by which the API filters',
      {
        accent: text('Accent', { pii: 'label' }),
        gender: text('Gender', { pii: 'label' }),
        useCase: text('Use', { pii: 'label' }),
        language: text('Language: a name, a code or a tag, as the provider writes it', { pii: 'label' }),
      },
      { isFlat: true },
    ),
  },
}

const voiceProvider: RecordType = {
  name: 'voice provider',
  table: 'voice_providers',
  about: 'One row for each provider of voices: whether it answered when voices were last listed',
  id: { key: 'provider', column: 'provider' },
  fields: {
    provider: text('Provider', { column: 'provider' }),
    failed: boolean('It failed when voices were last listed'),
    lastSuccessAt: time('When it last answered'),
    lastFailureAt: time('When it last failed'),
    lastError: text('Why it last failed, without secrets', { pii: 'content' }),
  },
}

interface VoicesAnswer {
  voices?: unknown
  providersQueried?: unknown
  providersFailed?: unknown
}

const texts = (list: unknown): string[] =>
  Array.isArray(list) ? list.filter((value): value is string => typeof value === 'string' && value !== '') : []

function keyed(entry: unknown): unknown {
  if (!isObject(entry)) return entry
  const [provider, voiceId] = [idOf(entry.provider), idOf(entry.voiceId)]
  return provider === null || voiceId === null ? entry : { [KEY]: `${provider}/${voiceId}`, ...entry }
}

/** Returns the answer with a key for each voice. */
function keyVoices(answer: unknown): unknown {
  const { voices } = (answer ?? {}) as VoicesAnswer
  return Array.isArray(voices) ? { ...(answer as object), voices: voices.map(keyed) } : answer
}

/** Returns the providers that failed, with their errors. */
export function failedProviders(answer: unknown): Map<string, string | null> {
  const { providersFailed } = (answer ?? {}) as VoicesAnswer
  const failures = Array.isArray(providersFailed) ? providersFailed : []
  return new Map(
    failures.flatMap((failure: unknown): [string, string | null][] => {
      const { provider, error } = isObject(failure) ? failure : { provider: failure }
      return typeof provider === 'string' ? [[provider, typeof error === 'string' ? error : null]] : []
    }),
  )
}

/** Returns the providers that answered; null if the answer does not name the requested ones. */
export function answeredProviders(answer: unknown): string[] | null {
  const queried = texts(((answer ?? {}) as VoicesAnswer).providersQueried)
  const failed = failedProviders(answer)
  return queried.length === 0 ? null : queried.filter(provider => !failed.has(provider))
}

export const VOICES = {
  stream: 'voices',
  answer: 'voices',
  path: '/v3/voices',
  parent: null,
  paging: ({ page, limit }) => ({ limit, offset: (page - 1) * limit }),
  pageLimit: 500,
  isTotalExact: true,
  prepare: keyVoices,
  answeredBy: answeredProviders,
  listedBy: 'provider',
  envelope: ['voices'],
  freshness: { everyMs: DAY },
  record: voice,
  // `redaction.ts` masks secrets in the errors of `providersFailed`.
  secrets: [],
  absence: 'not listed',
  landedAs: 'voices',
} as const satisfies Resource

export const VOICE_PROVIDERS = {
  stream: 'voice_providers',
  answer: 'voices',
  path: '/v3/voices',
  parent: null,
  paging: 'list',
  landedWith: 'voices',
  envelope: ['providers'],
  freshness: { everyMs: DAY },
  record: voiceProvider,
  absence: 'never',
  landedAs: 'voice-providers',
} as const satisfies Resource
