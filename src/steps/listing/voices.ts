// Lists voices, and lands beside them how each provider answered.
import type { DeclaredResource } from '../../catalog/resources/resources.ts'
import { answeredProviders, failedProviders, VOICE_PROVIDERS } from '../../catalog/resources/voices.ts'
import { storedProviders } from '../../warehouse/planning/voice-providers.ts'
import type { ResourceFetching } from '../planning/facts.ts'
import { fetchResource, landPages, type ResourceListing, windowName } from './resource-pages.ts'

const CHANGED = 'a provider failed or answered while the pages were read, so pages may overlap or leave a gap'

/** @throws as `readListing` */
export async function fetchVoices(
  fetching: ResourceFetching,
  resource: DeclaredResource,
  ids: readonly string[],
): Promise<ResourceListing> {
  const listing = await fetchResource(fetching, resource, ids)
  const answered = new Set(listing.pages.map(({ answer: { parsed } }) => JSON.stringify(answeredProviders(parsed))))
  if (answered.size < 2 || listing.cutOff) return listing
  return { ...listing, cutOff: { issue: CHANGED, detail: CHANGED } }
}

/** Lands the providers of a list of voices. What is stored about a provider's earlier answers is kept. */
export async function landProviders(fetching: ResourceFetching, { pages }: ResourceListing): Promise<void> {
  const { receipt, parsed, query } = pages[0]!.answer
  const stored = await storedProviders(fetching.warehouse.writer, fetching.workspaceId)
  const failed = failedProviders(parsed)
  const atMs = fetching.clock.at(receipt.sentAtMs)
  const providers = [...new Set([...(answeredProviders(parsed) ?? []), ...failed.keys()])].map(provider => {
    const known = stored.get(provider)
    const isFailing = failed.has(provider)
    return {
      provider,
      failed: isFailing,
      lastSuccessAt: isFailing ? (known?.successMs ?? null) : atMs,
      lastFailureAt: isFailing ? atMs : (known?.failureMs ?? null),
      lastError: isFailing ? failed.get(provider) : (known?.error ?? null),
    }
  })
  if (providers.length === 0) return
  const body = Buffer.from(JSON.stringify({ providers }))
  await landPages(fetching, {
    resource: VOICE_PROVIDERS,
    name: windowName(VOICE_PROVIDERS, []),
    pages: [{ receipt, body, query, removed: [] }],
    cutOff: null,
  })
}
