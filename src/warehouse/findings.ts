// What inspection found, told once for each path: schema drift, and data issues. Paths, types and counts; never a value.
import { iso, type Row, type Writer } from './connection.ts'
import type { LoadablePage } from './page.ts'

interface Finding {
  path: string
  issue: string | null
  declared: string | null
  seen: string
  occurrences: number
  firstMs: number
  lastMs: number
  file: string
}

function findingsOf({ head, path: file }: LoadablePage, drift: boolean): Finding[] {
  const base = { firstMs: head.sentAtServerMs, lastMs: head.sentAtServerMs, file, declared: null, issue: null }
  const { unknown, mismatched, zeroTimes, awkward } = head.notes
  if (drift) {
    return [
      ...Object.entries(unknown).map(([path, { count, seen }]) => ({ ...base, path, seen, occurrences: count })),
      ...awkward.map(path => ({ ...base, path, seen: 'unknown', occurrences: 1 })),
    ]
  }
  return [
    ...Object.entries(mismatched).map(([path, { count, declared, seen }]) => ({
      ...base,
      path: path === '' ? '(record)' : path,
      issue: 'wrong type',
      declared,
      seen,
      occurrences: count,
    })),
    ...Object.entries(zeroTimes).map(([path, count]) => ({
      ...base,
      path,
      issue: 'time is zero',
      declared: 'time',
      seen: 'number',
      occurrences: count,
    })),
  ]
}

function summed(findings: Finding[]): Finding[] {
  const byPath = new Map<string, Finding>()
  for (const finding of findings) {
    const key = JSON.stringify([finding.path, finding.issue])
    const known = byPath.get(key)
    byPath.set(
      key,
      known
        ? {
            ...known,
            occurrences: known.occurrences + finding.occurrences,
            firstMs: Math.min(known.firstMs, finding.firstMs),
            lastMs: Math.max(known.lastMs, finding.lastMs),
          }
        : finding,
    )
  }
  return [...byPath.values()]
}

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

async function tell(writer: Writer, table: '_drift' | '_issues', rows: Row[]): Promise<void> {
  if (rows.length === 0) return
  await writer.run(`CREATE OR REPLACE TEMP TABLE told AS SELECT * FROM ${table} LIMIT 0`)
  await writer.append('told', table === '_drift' ? DRIFT : ISSUES, rows)
  const same = `t.workspace_id = o.workspace_id AND t.record = o.record AND t.path = o.path${table === '_issues' ? ' AND t.issue = o.issue' : ''}`
  await writer.run(`MERGE INTO ${table} AS o USING told AS t ON ${same}
    WHEN MATCHED THEN UPDATE SET occurrences = o.occurrences + t.occurrences,
      first_seen = least(o.first_seen, t.first_seen), last_seen = greatest(o.last_seen, t.last_seen)
    WHEN NOT MATCHED THEN INSERT BY NAME`)
}

/** Adds a batch's findings to `_drift` and `_issues`, inside the caller's transaction. */
export async function tellFindings(
  writer: Writer,
  options: { workspaceId: string; record: string; pages: readonly LoadablePage[] },
): Promise<void> {
  const row = (finding: Finding): Row => ({
    workspace_id: options.workspaceId,
    record: options.record,
    path: finding.path,
    issue: finding.issue,
    declared: finding.declared,
    seen: finding.seen,
    occurrences: finding.occurrences,
    first_seen: iso(finding.firstMs),
    last_seen: iso(finding.lastMs),
    example_file: finding.file,
  })
  for (const table of ['_drift', '_issues'] as const) {
    const found = summed(options.pages.flatMap(page => findingsOf(page, table === '_drift')))
    await tell(writer, table, found.map(row))
  }
}
