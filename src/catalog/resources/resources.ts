// Everything that lands as pages: the declared API resources, and conversations.
import { conversation } from '../conversation/conversation.ts'
import type { RecordType } from '../shape.ts'
import { AGENTS } from './agents.ts'
import { AUDIT_LOG } from './audit-log.ts'
import { CRAWLER_PAGES } from './crawler-pages.ts'
import { CUSTOM_METRICS } from './custom-metrics.ts'
import { ORGANIZATIONS, TEAMS } from './organizations.ts'
import { isById, type Resource, type ResourceById } from './resource.ts'
import { TOOLS, VARIABLES } from './tools.ts'
import { VOICE_PROVIDERS, VOICES } from './voices.ts'

/** The declared resources, in the order in which they are requested and loaded. */
const DECLARED = [
  AGENTS,
  ORGANIZATIONS,
  TEAMS,
  TOOLS,
  VARIABLES,
  AUDIT_LOG,
  CUSTOM_METRICS,
  VOICES,
  VOICE_PROVIDERS,
  CRAWLER_PAGES,
] as const

type ResourceStream = (typeof DECLARED)[number]['stream']
export type Stream = 'conversations' | ResourceStream

export type DeclaredResource = Resource & { stream: ResourceStream }

export const RESOURCES: readonly DeclaredResource[] = DECLARED

export const STREAMS: readonly Stream[] = ['conversations', ...DECLARED.map(({ stream }) => stream)]

/** Returns the resource whose pages a stream contains; undefined for conversations. */
export const resourceOf = (stream: Stream): DeclaredResource | undefined =>
  RESOURCES.find(resource => resource.stream === stream)

/** Resources that are requested by id. */
const BY_ID = RESOURCES.filter(isById).filter(({ landedWith }) => landedWith === undefined)

/** Returns the stream of the resource whose ids are in the path of this one: its parent's, unless its own ids are known. */
const ownerOf = ({ ids, parent, stream }: DeclaredResource): string => (ids ? stream : (parent ?? stream))

/** Returns the resources whose ids occur in request paths, in the order of these requests. */
export const requestedIds = (): DeclaredResource[] =>
  [...new Set(BY_ID.map(ownerOf))].flatMap(owner => RESOURCES.filter(({ stream }) => stream === owner))

/** Returns the resources that are requested by an id of this one: itself, if its own id is in its path, then its children. */
export const requestedBy = ({ stream }: DeclaredResource): (DeclaredResource & ResourceById)[] =>
  BY_ID.filter(resource => ownerOf(resource) === stream)

/** Returns the number of ids in the path of a request for the resource. */
export const idsInPath = ({ path }: DeclaredResource): number => path.match(/\{(?!workspaceId)\w+\}/g)?.length ?? 0

/** Returns the resources that are listed for each id of this one. */
export const childrenOf = ({ stream }: DeclaredResource): DeclaredResource[] =>
  RESOURCES.filter(({ parent }) => parent === stream)

/** The record type of each stream's pages, in the order in which they are loaded. */
export const RECORD_OF: Readonly<Record<Stream, RecordType>> = {
  ...(Object.fromEntries(RESOURCES.map(({ stream, record }) => [stream, record])) as Record<
    ResourceStream,
    RecordType
  >),
  conversations: conversation,
}

/** Returns the resource of a record type; undefined for conversations and for record types of events. */
export const resourceOfRecord = (type: RecordType): DeclaredResource | undefined =>
  RESOURCES.find(({ record }) => record === type)

/** Returns the keys of a page's body that contain its records: lists, or one record. */
export const envelopeOf = (record: RecordType): readonly string[] => resourceOfRecord(record)?.envelope ?? ['data']
