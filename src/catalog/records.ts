// Every record type of the warehouse.

import { conversation } from './conversation/conversation.ts'
import { EVENT_RECORDS } from './events/event-records.ts'
import { RESOURCES } from './resources/resources.ts'
import type { RecordType } from './shape.ts'

/** Record types in landed pages. */
export const PAGE_RECORDS: readonly RecordType[] = [conversation, ...RESOURCES.map(({ record }) => record)]

export const RECORD_TYPES: readonly RecordType[] = [...PAGE_RECORDS, ...EVENT_RECORDS]

/**
 * Incremented when the catalog or inspection changes. Records of a page that landed under an older version are coerced,
 * because paths that were unknown then may be declared now.
 */
export const CATALOG_VERSION = 9
