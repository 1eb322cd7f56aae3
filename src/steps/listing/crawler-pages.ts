// Requests a page of a crawler job; its texts, which are large, are kept only if the configuration says so.
import { withoutBodies } from '../../catalog/resources/crawler-pages.ts'
import type { DeclaredResource } from '../../catalog/resources/resources.ts'
import type { ResourceFetching } from '../planning/facts.ts'
import { fetchResource, type ResourceListing } from './resource-pages.ts'

/** @throws as `readListing` */
export async function fetchCrawlerPage(
  fetching: ResourceFetching,
  resource: DeclaredResource,
  ids: readonly string[],
): Promise<ResourceListing> {
  const listing = await fetchResource(fetching, resource, ids)
  if (fetching.settings.keepsCrawlerBodies) return listing
  const pages = listing.pages.map(page => ({
    ...page,
    answer: { ...page.answer, parsed: withoutBodies(page.answer.parsed) },
  }))
  return { ...listing, pages }
}
