// The conversations that the vendor scanned for each page, including skipped ones, derived from the page's request and the sandbox's
// world. Together, the scans show which pages scanned a conversation and which of them returned it.
import { resolveReadings } from '../../../src/sandbox/readings.ts'
import { decodeCursor } from '../../../src/sandbox/routes/export-page.ts'
import { type ExportQuery, parseExportQuery } from '../../../src/sandbox/routes/export-query.ts'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import type { LandedPage } from './soak-evidence.ts'

export interface ScanEntry {
  page: LandedPage
  index: number
  /** False: the conversation was skipped, because no person had written in it. */
  returned: boolean
}

/** What one page scanned. */
export interface PageScan {
  page: LandedPage
  entries: ScanEntry[]
  /** Bounds of the scanned places, ms, both inclusive; null if ids were requested or nothing was scanned. */
  range: { fromMs: number; toMs: number } | null
  /** Time of the data from which the page was served. */
  dataMs: number
}

export interface Mirror {
  /** Time of the data that the sandbox served at `atMs`. */
  dataMs(atMs: number): number
}

/** A mirror whose data time follows from the configured lags and never goes back. */
export function mirrorOf(lags: readonly { atMs: number; lagMs: number }[]): Mirror {
  const spans: { fromMs: number; lagMs: number; reachedMs: number }[] = []
  const dataMs = (atMs: number): number => {
    const span = spans.findLast(({ fromMs }) => fromMs <= atMs)
    return span === undefined ? atMs : Math.max(atMs - span.lagMs, Math.min(span.reachedMs, atMs))
  }
  for (const { atMs, lagMs } of lags) spans.push({ fromMs: atMs, lagMs, reachedMs: dataMs(atMs) })
  return { dataMs }
}

interface Scope {
  sandbox: Sandbox
  seed: number
  mirror: Mirror
}

interface ScannedPlaces {
  indices: number[]
  range: PageScan['range']
}

/** Repeats the query in the sandbox's world, on the data that the mirror had then. */
function scannedPlaces({ sandbox, seed }: Scope, agentId: string, query: ExportQuery, dataMs: number): ScannedPlaces {
  if (query.convoIds) {
    const found = query.convoIds.map(id => sandbox.world.find(agentId, id, dataMs))
    return { indices: found.filter(index => index !== undefined), range: null }
  }
  const { sort, fromMs, toMs, limit, cursor } = query
  const after = cursor === undefined ? undefined : decodeCursor(cursor, { seed, agentId, sort, fromMs, toMs })?.after
  const places = [...sandbox.world.walk(agentId, { sort, fromMs, toMs, after }, dataMs)].slice(0, limit + 1)
  const more = places.length > limit
  const withinLimit = places.slice(0, limit)
  const [begins, ends] = [after?.ts, more ? withinLimit.at(-1)!.ts : undefined]
  return {
    indices: withinLimit.map(({ index }) => index),
    range:
      sort === 'asc'
        ? { fromMs: begins ?? fromMs, toMs: ends ?? toMs }
        : { fromMs: ends ?? fromMs, toMs: begins ?? toMs },
  }
}

/** What a page scanned, in the vendor's order. */
export function scanOf(scope: Scope, page: LandedPage): PageScan {
  const { request } = page
  const dataMs = scope.mirror.dataMs(request.at)
  if (request.faults.includes('empty-page')) return { page, entries: [], range: null, dataMs }
  const parsed = parseExportQuery(new URLSearchParams(request.query), resolveReadings({}, false))
  if ('issues' in parsed) throw new Error(parsed.issues.join('; '))
  const { indices, range } = scannedPlaces(scope, request.agentId!, parsed.query, dataMs)
  const { world } = scope.sandbox
  const entries = indices.map(index => ({ page, index, returned: world.billable(index, dataMs) > 0 }))
  return { page, entries, range, dataMs }
}
