// The declaration of an API resource. Request, envelope, names of landed pages, fetch loop, load, `_missing_since`, checks and data dictionary
// derive from it. Conversations are not declared this way: they are metered and exported window by window.
import type { RecordType } from '../shape.ts'

/** One page of a listing, counted from 1. */
export interface PageRequest {
  workspaceId: string
  page: number
  /** Records a page, 1 to 100. */
  limit: number
}

export interface Resource {
  /** Folder of the resource's pages in the landing, and the resource's name in the column `stream` of `_loads` and `_requests`. */
  stream: string
  /** Kind of answer, as error messages name it. */
  answer: string
  /** Path of the request; `{agentId}` stands for an id. */
  path: `/v3/${string}`
  /** Stream of the parent resource, if the id in the path is the parent's. */
  parent: string | null
  /**
   * `record`: the answer is one record. `list`: it is a complete list. A function: the parameters of one page of a listing; the API
   * document shows none, so after a 400 the request is repeated without them.
   */
  paging: 'record' | 'list' | ((page: PageRequest) => Readonly<Record<string, string | number>>)
  /** Keys of the body that hold records. If there are several, at least one must be present, and the records of all are taken. */
  envelope: readonly [string, ...string[]]
  freshness: Freshness
  record: RecordType
  /** Paths of secrets in the record, for the data dictionary. `redaction.ts` has its own rules; a test checks that they remove these secrets. */
  secrets: readonly string[]
  /** The evidence that a record is gone: a 404 for its id, or a complete list that lacks it (the list of its parent, if it has one). */
  absence: 'not found' | 'not listed'
  /** Sources of the ids to request; absent: the parent's table. */
  ids?: IdSources
  /** Names landed pages: `<time>-<landedAs>-<id in the path>`. */
  landedAs: string
}

/**
 * `every sync`: requested at the start of every sync, with retries. Otherwise: requested by id at the end of a sync, when loaded rows supply
 * the ids. These requests are not retried, because the next sync makes them again.
 */
type Freshness = 'every sync' | ById

interface ById {
  /** An answer is requested again when it is this old, ms, or earlier when the resource is known to have changed. */
  everyMs: number
  /** Columns with the time of the last change, in the row whose id is in the path. A time in the future is ignored. */
  changedAt?: readonly string[]
}

export type ResourceById = Resource & { freshness: ById }

export const isById = <R extends Resource>(resource: R): resource is R & ResourceById =>
  resource.freshness !== 'every sync'

/** Sources of ids for resources that no endpoint lists. */
interface IdSources {
  /** Tables that contain such ids, in a column named like the resource's own id. */
  tables: readonly string[]
  /** Setting of the workspace that lists further ids. */
  setting: 'organizations'
}
