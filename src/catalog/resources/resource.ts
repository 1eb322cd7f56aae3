// How an API resource is declared. The client's request, the envelope's reader, the name of its landed pages, the fetch loop, the
// load, `_missing_since`, the checks of the warehouse and the data dictionary derive from the declaration. Conversations are none of
// these: they are metered, and exported window by window.
import type { RecordType } from '../shape.ts'

/** One page of a listing, counted from 1. */
export interface PageRequest {
  workspaceId: string
  page: number
  /** Records a page, 1 to 100. */
  limit: number
}

export interface Resource {
  /** Folder of its pages in the landing, and its name in `stream` of `_loads` and `_requests`. */
  stream: string
  /** Kind of answer, as error messages name it. */
  answer: string
  /** Path of the request; `{agentId}` stands for an id. */
  path: `/v3/${string}`
  /** Stream of the resource whose id is in the path, where it is not the resource's own. */
  parent: string | null
  /**
   * `record`: the answer is one record; `list`: it is a list, complete; or the parameters of one page of a listing. The API document
   * shows no such parameters, so a vendor that refuses them (400) is asked once more without.
   */
  paging: 'record' | 'list' | ((page: PageRequest) => Readonly<Record<string, string | number>>)
  /** Keys of the body that hold records. Of several lists at least one is there, and the result is their union. */
  envelope: readonly [string, ...string[]]
  freshness: Freshness
  record: RecordType
  /** Paths in the record at which the API document puts a secret. They never land, nor does anything else that `redaction.ts` finds. */
  secrets: readonly string[]
  /** What says that a record is gone: a 404 for its id, or a complete list of its parent (of all, without one) that does not hold it. */
  absence: 'not found' | 'not listed'
  /** Where ids are found that are requested one by one; absent: in the parent's table. */
  ids?: IdSources
  /** First word of a landed page's name, behind the time; then comes the id in the path. */
  landedAs: string
}

/**
 * `every sync` begins with the request, which may be tried again. All others are made at the end of a sync, where what it loaded names
 * ids; once, since the next sync makes up for one that fails.
 */
export type Freshness = 'every sync' | ById

export interface ById {
  /** An answer is not requested again before it is so old, ms, or the resource is known to have changed. */
  everyMs: number
  /** Columns of the row of the id in the path that say when it has changed. A time in the future counts for nothing. */
  changedAt?: readonly string[]
}

export type ResourceById = Resource & { freshness: ById }

export const isById = <R extends Resource>(resource: R): resource is R & ResourceById =>
  resource.freshness !== 'every sync'

/** Where ids come from that no parent lists. */
export interface IdSources {
  /** Tables that name ids, in the column of the resource's own id. */
  tables: readonly string[]
  /** Setting of the workspace that names more. */
  setting: 'organizations'
}
