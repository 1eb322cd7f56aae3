// What was found in pages, told once for each path: schema drift, and data issues. Paths, types and counts; never a value,
// nor a key that may be one.

import type { Issue } from '../../catalog/coerce.ts'
import type { PageNotes } from '../../catalog/inspect.ts'
import { ANY_KEY, safeKey } from '../../catalog/safe-path.ts'
import type { RecordType } from '../../catalog/shape.ts'
import { UNREAD_TIME } from '../../catalog/unread-times.ts'
import { iso, type Row, type Writer } from '../connection.ts'
import type { CoercedPage } from './coerce-page.ts'

interface Counted {
  count: number
}

/** What one page gives to tell. */
export interface PageFindings {
  drift: ({ path: string; seen: string } & Counted)[]
  issues: (Issue & Counted)[]
}

/** Undeclared keys beside each other in one page; where there are more, they are no fields but data. */
const MOST_FIELDS = 50

function counted<F extends object>(found: readonly F[], keyOf: (finding: F) => string): (F & Counted)[] {
  const byKey = new Map<string, F & Counted>()
  for (const finding of found) {
    const known = byKey.get(keyOf(finding))
    const count = (finding as Partial<Counted>).count ?? 1
    if (known) known.count += count
    else byKey.set(keyOf(finding), { ...finding, count })
  }
  return [...byKey.values()]
}

const prefixOf = (path: string): string => path.slice(0, path.lastIndexOf('.') + 1)

/** Drift by path; of more keys beside each other than fields would be, only that they are there. */
function driftOf(found: readonly { path: string; seen: string; count?: number }[]): PageFindings['drift'] {
  const byPath = counted(found, ({ path }) => path)
  const beside = new Map<string, number>()
  for (const { path } of byPath) beside.set(prefixOf(path), (beside.get(prefixOf(path)) ?? 0) + 1)
  const told = byPath.map(finding => {
    const prefix = prefixOf(finding.path)
    return beside.get(prefix)! > MOST_FIELDS ? { ...finding, path: prefix + ANY_KEY } : finding
  })
  return counted(told, ({ path }) => path)
}

const zeroTimes = ({ zeroTimes }: PageNotes): PageFindings['issues'] =>
  Object.entries(zeroTimes).map(([path, count]) => ({
    path,
    issue: 'time is zero',
    declared: 'time',
    seen: 'number',
    count,
  }))

const unreadTimes = ({ unreadTimes }: PageNotes): PageFindings['issues'] =>
  Object.entries(unreadTimes).map(([path, found]) => ({ path, issue: UNREAD_TIME, ...found }))

/** How `_issues` tells of secrets that were removed before anything was written. No fault of the data. */
export const SECRET_REMOVED = 'secret removed'

/** One issue for each path at which secrets were removed. */
export const removedSecrets = (removed: Readonly<Record<string, number>> | null | undefined): PageFindings['issues'] =>
  Object.entries(removed ?? {}).map(([path, count]) => ({
    path,
    issue: SECRET_REMOVED,
    declared: null,
    seen: 'secret',
    count,
  }))

/** Findings of a page that is staged as it landed: those of its inspection. */
export const inspectionFindings = (notes: PageNotes): PageFindings => ({
  drift: driftOf(
    Object.entries(notes.unknown).map(([path, { count, seen }]) => ({
      // What stands before the last dot is declared: inspection looks no deeper than the first key that is not.
      path: prefixOf(path) + safeKey(path.slice(prefixOf(path).length)),
      seen,
      count,
    })),
  ),
  issues: [...zeroTimes(notes), ...unreadTimes(notes), ...removedSecrets(notes.removed)],
})

/** Findings of a page that was mended: those of its records, counted while they were taken apart. */
export const coercedFindings = (
  notes: PageNotes,
  { issues, drift }: Pick<CoercedPage, 'issues' | 'drift'>,
): PageFindings => ({
  drift: driftOf(drift),
  issues: [
    ...counted(issues, ({ path, issue }) => JSON.stringify([path, issue])),
    ...zeroTimes(notes),
    ...removedSecrets(notes.removed),
  ],
})

/** Where `_issues` tells of a listing as a whole. */
export const LISTING_PATH = '(listing)'

/** How `_issues` tells that a listing may not hold all that there is. */
export const cutOffIssue = (record: RecordType, why: string): Issue & Counted => ({
  path: LISTING_PATH,
  issue: `may be cut off: ${why}`,
  declared: `every ${record.name}`,
  seen: 'array',
  count: 1,
})

const T = 'VARCHAR'
const DRIFT = {
  workspace_id: T,
  record: T,
  path: T,
  seen: T,
  occurrences: 'BIGINT',
  first_seen: 'TIMESTAMP',
  last_seen: 'TIMESTAMP',
  example_file: T,
}
const ISSUES = { ...DRIFT, issue: T, declared: T }

async function mergeInto(writer: Writer, table: '_drift' | '_issues', rows: Row[]): Promise<void> {
  if (rows.length === 0) return
  await writer.run(`CREATE OR REPLACE TEMP TABLE told AS SELECT * FROM ${table} LIMIT 0`)
  await writer.append('told', table === '_drift' ? DRIFT : ISSUES, rows)
  const same = `t.workspace_id = o.workspace_id AND t.record = o.record AND t.path = o.path${table === '_issues' ? ' AND t.issue = o.issue' : ''}`
  // The example is the earliest page that has it, whichever was loaded first: a replay tells the same one.
  const earlier = '(t.first_seen, t.example_file) < (o.first_seen, o.example_file)'
  await writer.run(`MERGE INTO ${table} AS o USING told AS t ON ${same}
    WHEN MATCHED THEN UPDATE SET occurrences = o.occurrences + t.occurrences,
      seen = CASE WHEN ${earlier} THEN t.seen ELSE o.seen END,
      example_file = CASE WHEN ${earlier} THEN t.example_file ELSE o.example_file END,
      first_seen = least(o.first_seen, t.first_seen), last_seen = greatest(o.last_seen, t.last_seen)
    WHEN NOT MATCHED THEN INSERT BY NAME`)
}

/** A page, or an event. */
interface FileFindings {
  page: { address: string; head: { sentAtServerMs: number } }
  findings: PageFindings
}

interface SeenSpan {
  firstMs: number
  lastMs: number
  /** The earliest file that has it. */
  file: string
}

/** One row for each key, over all files. */
function rowsOf<F extends { path: string; seen: string } & Counted>(
  files: readonly FileFindings[],
  findingsOf: (file: FileFindings) => readonly F[],
  keyOf: (finding: F) => string,
): (F & SeenSpan)[] {
  const byKey = new Map<string, F & SeenSpan>()
  const at = ({ page }: FileFindings): number => page.head.sentAtServerMs
  const inOrder = [...files].sort((a, b) => at(a) - at(b) || (a.page.address < b.page.address ? -1 : 1))
  for (const file of inOrder) {
    for (const finding of findingsOf(file)) {
      const known = byKey.get(keyOf(finding))
      if (known) {
        known.count += finding.count
        known.lastMs = at(file)
      } else byKey.set(keyOf(finding), { ...finding, firstMs: at(file), lastMs: at(file), file: file.page.address })
    }
  }
  return [...byKey.values()]
}

/** Adds a batch's findings to `_drift` and `_issues`, inside the caller's transaction. */
export async function writeFindings(
  writer: Writer,
  options: { workspaceId: string; record: RecordType; files: readonly FileFindings[] },
): Promise<void> {
  const { workspaceId, record, files } = options
  const common = (finding: Counted & SeenSpan): Row => ({
    workspace_id: workspaceId,
    record: record.name,
    occurrences: finding.count,
    first_seen: iso(finding.firstMs),
    last_seen: iso(finding.lastMs),
    example_file: finding.file,
  })
  // Of a record type whose unknown keys are expected they are no drift.
  const drift =
    record.extra === 'rest'
      ? []
      : rowsOf(
          files,
          file => file.findings.drift,
          ({ path }) => path,
        )
  await mergeInto(
    writer,
    '_drift',
    drift.map(finding => ({ ...common(finding), path: finding.path, seen: finding.seen })),
  )
  const issues = rowsOf(
    files,
    file => file.findings.issues,
    ({ path, issue }) => JSON.stringify([path, issue]),
  )
  await mergeInto(
    writer,
    '_issues',
    issues.map(({ path, issue, declared, seen, ...finding }) => ({
      ...common(finding),
      path,
      issue,
      declared,
      seen,
    })),
  )
}
