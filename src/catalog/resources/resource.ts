// The declaration of an API resource. Request, envelope, names of landed pages, fetch loop, load, `_missing_since`, checks and
// data dictionary derive from it. Conversations are not declared this way: they are metered and exported window by window.

import { ExactNumber } from '../../json/exact-json.ts'
import { isObject } from '../inspection/inspect.ts'
import type { RecordType } from '../shape.ts'

/** One page of a listing. */
export interface PageRequest {
  workspaceId: string
  /** Counts from 1. */
  page: number
  /** Number of records per page. */
  limit: number
  /** Position at which a listing without numbered pages continues; omitted for its first page. */
  cursor?: number
}

export interface Resource {
  /** Folder of the resource's pages in the landing, and the resource's name in the column `stream` of `_loads` and `_requests`. */
  stream: string
  /** Kind of answer in error messages. */
  answer: string
  /** Path of the request. `{workspaceId}` stands for the workspace, each other placeholder for one of the ids to request. */
  path: `/v3/${string}`
  /** Stream of the parent resource, if the id in the path is the parent's. */
  parent: string | null
  /**
   * `record`: the answer is one record. `list`: it is a complete list. A function returns the parameters of one page of
   * a listing; the API document shows none, so after a 400 the request is repeated without them.
   */
  paging: 'record' | 'list' | ((page: PageRequest) => Readonly<Record<string, string | number>>)
  /** Number of records per page. Default: 100. */
  pageLimit?: number
  /** True if the API document says that `total` counts all entries, so that a listing ends with the page that reaches it. */
  isTotalExact?: true
  /**
   * Completes an answer, without secrets, before it lands: adds keys where the API has none, and ids of the request.
   * Never throws, and returns an answer of another shape unchanged.
   */
  prepare?: (answer: unknown, ids: readonly string[]) => unknown
  /** Returns those that answered for a list's entries, in the column `listedBy`; null if the answer does not say. */
  answeredBy?: (answer: unknown) => string[] | null
  /** Column that names the list of a row, if an answer has several: a row is missing only if `answeredBy` contains its value. */
  listedBy?: string
  /** Stream of the resource whose answers also contain these records, so that they need no separate request. */
  landedWith?: string
  /** Keys of the body that contain records. If there are several, at least one must be present, and the records of all are used. */
  envelope: readonly [string, ...string[]]
  freshness: Freshness
  record: RecordType
  /** Paths of secrets in the record, for the data dictionary. A test checks that the rules of `redaction.ts` remove them. */
  secrets?: readonly string[]
  /**
   * The evidence that a record is gone: a 404 for its id, or a complete list that lacks it (its parent's list, if it
   * has a parent); `never` if there is none.
   */
  absence: 'not found' | 'not listed' | 'never'
  /** Sources of the ids to request; default: the parent's table. */
  ids?: IdSources
  /** Part of the names of landed pages: `<time>-<landedAs>-<id in the path>`. */
  landedAs: string
}

/**
 * `every sync`: requested at the start of every sync, with retries. Otherwise: requested by id at the end of a sync,
 * when loaded rows supply the ids. These requests are not retried, because the next sync repeats them.
 */
type Freshness = 'every sync' | ById

interface ById {
  /** Age at which an answer is requested again, ms; earlier if the resource is known to have changed. */
  everyMs: number
  /** The same after a 404. Default: `everyMs`. */
  absentEveryMs?: number
  /** Columns with the time of the last change, in the row whose id is in the path. A time in the future is ignored. */
  changedAt?: readonly string[]
}

export type ResourceById = Resource & { freshness: ById }

export const isById = <R extends Resource>(resource: R): resource is R & ResourceById =>
  resource.freshness !== 'every sync'

/** Sources of ids for resources that no endpoint lists. */
interface IdSources {
  /** Tables that contain such ids, in columns named like the key of the resource's own table. */
  tables: readonly string[]
  /** Setting of the workspace that lists further ids: ids, or lists of ids by the preceding id in the path. */
  setting: 'organizations' | 'customMetrics' | 'crawlerPages'
}

/** Returns an id as text; null for an empty text and for anything else. */
export function idOf(value: unknown): string | null {
  if (value instanceof ExactNumber) return value.text
  return typeof value === 'number' || (typeof value === 'string' && value !== '') ? String(value) : null
}

/** Completes an answer whose record is under `key`. The requested id is the last one in the path. */
export const withRequestedId =
  (key: string, idKey: string) =>
  (answer: unknown, ids: readonly string[]): unknown => {
    const record = isObject(answer) ? answer[key] : undefined
    if (!isObject(record) || idOf(record[idKey]) !== null) return answer
    return { ...(answer as object), [key]: { ...record, [idKey]: ids.at(-1) } }
  }
