// API resources that a sync requests besides agents and conversations: `all`, `none`, or names; and ids that no endpoint lists.
import { z } from 'zod'
import { requestedBy, requestedIds } from '../catalog/resources/resources.ts'

/** The resources that can be chosen, in the order in which they are requested. */
export const RESOURCE_NAMES: readonly string[] = requestedIds().flatMap(owner =>
  requestedBy(owner).map(({ stream }) => stream),
)

const NAMES = `must be all, none, or a list of ${RESOURCE_NAMES.join(', ')}`

export const resourceNames = z.union(
  [z.enum(['all', 'none']), z.array(z.string().refine(name => RESOURCE_NAMES.includes(name), NAMES))],
  { error: NAMES },
)

/** Returns the names of the chosen resources. */
export const chosenResources = (given: z.infer<typeof resourceNames>): readonly string[] =>
  given === 'all' ? RESOURCE_NAMES : given === 'none' ? [] : given

const idList = z.array(z.string().min(1))
const idsByOwner = z.record(z.string().min(1), idList)

/** The settings of a workspace in the file. */
export const resourceShape = {
  organizations: idList.default([]),
  resources: resourceNames.default('all'),
  customMetrics: idsByOwner.default({}),
  crawler: z.strictObject({ pages: idsByOwner.default({}), bodies: z.boolean().default(false) }).prefault({}),
}

export const resourceSettings = (given: z.infer<z.ZodObject<typeof resourceShape>>) => ({
  /** Ids of organizations to read, besides those that conversations and events mention. */
  organizations: given.organizations,
  /** Names of the resources that a sync requests. */
  resources: chosenResources(given.resources),
  /** Ids of custom metrics to read, by agent, besides those in conversations. */
  customMetrics: given.customMetrics,
  /** Ids of pages to read, by crawler job. */
  crawlerPages: given.crawler.pages,
  /** True if Markdown and HTML of these pages are kept. */
  keepsCrawlerBodies: given.crawler.bodies,
})
