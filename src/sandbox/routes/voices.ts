// GET /v3/voices (API document, sections 2.5 and 4.9).
import { z } from 'zod'
import { canary } from '../world/agents/secret-bearing.ts'
import { PROVIDERS, type Provider, type Voice, voicesOf } from '../world/voices.ts'
import { type Answer, jsonAnswer } from './answer.ts'
import { invalidQuery, readQuery } from './input.ts'
import type { RouteRequest, SandboxService } from './route.ts'

export const VoiceQuery = z.object({
  language: z.string().optional(),
  gender: z
    .string()
    .regex(/^(m|male|masculine|f|female|feminine|neutral)$/i, 'must be male, female or neutral')
    .optional(),
  accent: z.string().optional(),
  providers: z.string().optional(),
  limit: z.int().min(1).max(500).default(50),
  offset: z.int().min(0).default(0),
})

/** Queries the providers, then filters, then pages: `total` counts the matches before paging. */
export function listVoices(service: SandboxService, { params }: RouteRequest): Answer {
  const read = readQuery(VoiceQuery, params)
  if ('refused' in read) return read.refused
  const { language, gender, accent, limit, offset } = read.value
  const names = listed(read.value.providers)
  const unknown = names.filter(name => !isProvider(name))
  if (unknown.length > 0)
    return invalidQuery(unknown.map(name => `providers: ${name} is none of ${PROVIDERS.join(', ')}`))
  const queried = PROVIDERS.filter(provider => names.length === 0 || names.includes(provider))
  const failed = new Set(service.conditions.failedProviders)
  const found = queried
    .filter(provider => !failed.has(provider))
    .flatMap(voicesOf)
    .filter(voice => isMatch(voice, { language, gender, accent }))
  return jsonAnswer({
    total: found.length,
    limit,
    offset,
    providersQueried: queried,
    providersFailed: queried.filter(provider => failed.has(provider)).map(failure),
    voices: found.slice(offset, offset + limit),
  })
}

const listed = (providers = ''): string[] => {
  const names = providers.split(',').map(name => name.trim().toLowerCase())
  return names.filter(name => name !== '')
}

const isProvider = (name: string): name is Provider => (PROVIDERS as readonly string[]).includes(name)

/** Imitates providers' errors, which contain the key in a sentence, a header or an address. */
function failure(provider: Provider) {
  const key = canary(`voice-key-${provider}`, 0)
  const errors = [
    `401 Unauthorized: invalid api key ${key}`,
    `GET https://${provider}.example.com/v1/voices?api_key=${key} failed: missing workspace key`,
    `Request failed with status 403 (Authorization: Bearer ${key})`,
  ]
  return { provider, error: errors[PROVIDERS.indexOf(provider) % errors.length]! }
}

interface Filters {
  language: string | undefined
  gender: string | undefined
  accent: string | undefined
}

function isMatch({ filters }: Voice, { language, gender, accent }: Filters): boolean {
  // Compares the first letter, since `m`, `male` and `masculine` are the same.
  if (gender !== undefined && filters.gender?.[0] !== gender[0]!.toLowerCase()) return false
  if (accent !== undefined && !filters.accent?.toLowerCase().includes(accent.toLowerCase())) return false
  return language === undefined || filters.language?.toLowerCase().startsWith(language.toLowerCase()) === true
}
