// Findings in pages and events: schema drift (`_drift`) and data issues (`_issues`), one row per path. They contain
// paths, types and counts, but no values and no keys that may be values.

import { webhookEvent } from '../../catalog/events/event-records.ts'
import type { Issue } from '../../catalog/inspection/coerce.ts'
import type { PageNotes } from '../../catalog/inspection/inspect.ts'
import { ANY_KEY, safeKey } from '../../catalog/inspection/unknown-fields.ts'
import type { RecordType } from '../../catalog/shape.ts'
import { iso, type Row, type Writer } from '../connection.ts'
import type { CoercedPage } from './coerce-page.ts'

interface Counted {
  count: number
}

/** The findings of one page. */
export interface PageFindings {
  drift: ({ path: string; seen: string } & Counted)[]
  issues: (Issue & Counted)[]
}

/** Maximum number of undeclared keys of one object that are reported by name. More than that are data (such as ids), not fields. */
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

/** Returns drift by path. More than MOST_FIELDS keys in one object are counted under one path, `ANY_KEY`. */
function driftOf(found: readonly { path: string; seen: string; count?: number }[]): PageFindings['drift'] {
  const byPath = counted(found, ({ path }) => path)
  const beside = new Map<string, number>()
  for (const { path } of byPath) beside.set(prefixOf(path), (beside.get(prefixOf(path)) ?? 0) + 1)
  const reported = byPath.map(finding => {
    const prefix = prefixOf(finding.path)
    return beside.get(prefix)! > MOST_FIELDS ? { ...finding, path: prefix + ANY_KEY } : finding
  })
  return counted(reported, ({ path }) => path)
}

/** Issue about secrets that were removed before anything was written. It is not a fault of the data. */
export const SECRET_REMOVED = 'secret removed'

/** Returns one issue per path at which secrets were removed. */
const removedSecrets = (removed: Readonly<Record<string, number>> | null | undefined): PageFindings['issues'] =>
  Object.entries(removed ?? {}).map(([path, count]) => ({
    path,
    issue: SECRET_REMOVED,
    declared: null,
    seen: 'secret',
    count,
  }))

/** Returns findings of a page that is staged as landed: those of its inspection. */
export const inspectionFindings = (notes: PageNotes): PageFindings => ({
  drift: driftOf(
    Object.entries(notes.unknown).map(([path, { count, seen }]) => ({
      // The path before the last dot is declared: inspection stops at the first undeclared key.
      path: prefixOf(path) + safeKey(path.slice(prefixOf(path).length)),
      seen,
      count,
    })),
  ),
  issues: [...notes.unread, ...removedSecrets(notes.removed)],
})

/** Returns findings of coerced records, and of secrets that were `removed` before storage. */
export const coercedFindings = (
  { issues, drift }: Pick<CoercedPage, 'issues' | 'drift'>,
  removed?: Readonly<Record<string, number>> | null,
): PageFindings => ({
  drift: driftOf(drift),
  issues: [...counted(issues, ({ path, issue }) => JSON.stringify([path, issue])), ...removedSecrets(removed)],
})

/** Path in `_issues` of a finding about a whole listing. */
export const LISTING_PATH = '(listing)'

/** Returns the issue of a listing that may be incomplete. */
export const cutOffIssue = (record: RecordType, why: string): Issue & Counted => ({
  path: LISTING_PATH,
  issue: `may be cut off: ${why}`,
  declared: `every ${record.name}`,
  seen: 'array',
  count: 1,
})

/**
 * Adds findings of single files to a table, one row per value of `key`. The example is the earliest page with this
 * finding, regardless of the loading order, so that a replay gives the same one.
 */
async function mergeInto(
  writer: Writer,
  { table, key }: { table: '_drift' | '_issues'; key: readonly string[] },
  rows: readonly Row[],
): Promise<void> {
  if (rows.length === 0) return
  const findings = `findings${table}`
  await writer.run(`CREATE OR REPLACE TEMP TABLE ${findings} AS FROM ${table} LIMIT 0`)
  await writer.append(findings, rows)
  const same = ['workspace_id', 'record', ...key].map(column => `f.${column} = o.${column}`).join(' AND ')
  const earlier = '(f.first_seen, f.example_file) < (o.first_seen, o.example_file)'
  await writer.run(`MERGE INTO ${table} AS o USING (
      SELECT * REPLACE (sum(occurrences) OVER whole AS occurrences, max(last_seen) OVER whole AS last_seen) FROM ${findings}
      WINDOW whole AS (PARTITION BY workspace_id, record, ${key.join(', ')})
      QUALIFY row_number() OVER (PARTITION BY workspace_id, record, ${key.join(', ')} ORDER BY first_seen, example_file) = 1
    ) AS f ON ${same}
    WHEN MATCHED THEN UPDATE SET occurrences = o.occurrences + f.occurrences,
      seen = CASE WHEN ${earlier} THEN f.seen ELSE o.seen END,
      example_file = CASE WHEN ${earlier} THEN f.example_file ELSE o.example_file END,
      first_seen = least(o.first_seen, f.first_seen), last_seen = greatest(o.last_seen, f.last_seen)
    WHEN NOT MATCHED THEN INSERT BY NAME`)
}

/** The findings of a page, or of an event. */
interface FileFindings {
  page: { address: string; head: { sentAtServerMs: number } }
  findings: PageFindings
}

/** Adds a batch's findings to `_drift` and `_issues`, inside the caller's transaction. */
export async function writeFindings(
  writer: Writer,
  options: { workspaceId: string; record: RecordType; files: readonly FileFindings[] },
): Promise<void> {
  const { workspaceId, record, files } = options
  const rows = (findingsOf: (findings: PageFindings) => readonly Counted[]): Row[] =>
    files.flatMap(({ page, findings }) => {
      const seenAt = iso(page.head.sentAtServerMs)
      const file = { workspace_id: workspaceId, record: record.name, example_file: page.address }
      return findingsOf(findings).map(({ count, ...finding }) => ({
        ...{ ...file, ...finding, occurrences: count, first_seen: seenAt, last_seen: seenAt },
      }))
    })
  if (!record.hasOtherFields)
    await mergeInto(
      writer,
      { table: '_drift', key: ['path'] },
      rows(({ drift }) => drift),
    )
  await mergeInto(
    writer,
    { table: '_issues', key: ['path', 'issue'] },
    rows(({ issues }) => issues),
  )
}

/** A segment of the spool with lines that are no longer readable. */
interface ReportedDamage {
  /** The segment's name. */
  segment: string
  begunMs: number
  lines: number
  bytes: number
  /** Name of the file that keeps the damaged lines, as in the spool. */
  file: string
}

/** Adds one row to `_issues` for a damaged segment, however often it is reported. It quotes none of the damaged bytes. */
export async function recordDamage(
  { writer, workspaceId }: { writer: Writer; workspaceId: string },
  { segment, begunMs, lines, bytes, file }: ReportedDamage,
): Promise<void> {
  const params = {
    ...{ workspace: workspaceId, record: webhookEvent.name, segment, file },
    ...{ begun: iso(begunMs), lines, seen: `${bytes} bytes` },
  }
  await writer.transaction(() =>
    writer.run(
      `INSERT INTO _issues BY NAME
      SELECT $workspace AS workspace_id, $record AS record, $segment AS path, 'damaged in the spool' AS issue, NULL AS declared, $seen AS seen,
        $lines AS occurrences, $begun::TIMESTAMPTZ AS first_seen, $begun::TIMESTAMPTZ AS last_seen, $file AS example_file
      WHERE NOT EXISTS (FROM _issues WHERE workspace_id = $workspace AND record = $record AND path = $segment)`,
      params,
    ),
  )
}
