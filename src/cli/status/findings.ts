// What loading found: fields that nobody declared, values that did not fit, records that could not be loaded.
import { quoteText } from '../../catalog/layout.ts'
import { LISTING_PATH, SECRET_REMOVED } from '../../warehouse/load/findings.ts'
import type { Rows } from './reading.ts'

/** A path in `_drift` or `_issues`: what was seen there, how often, and a file that has it. */
export interface Finding {
  record: string
  path: string
  seen: string
  occurrences: number
  lastSeen: string
  exampleFile: string
}

export interface IssueFinding extends Finding {
  issue: string
  declared: string | null
}

/** Findings of the loads; see `_drift`, `_issues` and `_quarantine`. */
export interface Findings {
  driftPaths: number
  issuePaths: number
  issues: number
  quarantined: number
  /** Why the newest listing of agents may be cut off; null where it is complete. */
  agentsCutOff: string | null
  /** The most frequent ones. */
  topDrift: Finding[]
  topIssues: IssueFinding[]
  /** Secrets that were removed before anything was written: no fault of the data, and not among the issues. */
  secretsRemoved: number
}

export const NO_FINDINGS: Findings = {
  driftPaths: 0,
  issuePaths: 0,
  issues: 0,
  quarantined: 0,
  agentsCutOff: null,
  topDrift: [],
  topIssues: [],
  secretsRemoved: 0,
}

const TOP = 3

/** A listing that tells nothing new is not landed again: the newest that has is as things stand. */
const cutOffSql = (here: string): string => `
  SELECT issue FROM _issues WHERE ${here} AND record = 'agent' AND path = '${LISTING_PATH}'
    AND last_seen >= (SELECT max(sent_at) FROM _requests WHERE ${here} AND stream = 'agents') ORDER BY last_seen DESC LIMIT 1`

const REMOVED = `issue = ${quoteText(SECRET_REMOVED)}`

const countsSql = (here: string): string => `
  SELECT (SELECT count(*) FROM _drift WHERE ${here}) AS "driftPaths", (SELECT count(*) FROM _issues WHERE ${here} AND NOT ${REMOVED}) AS "issuePaths",
    (SELECT coalesce(sum(occurrences), 0)::BIGINT FROM _issues WHERE ${here} AND NOT ${REMOVED}) AS issues,
    (SELECT coalesce(sum(occurrences), 0)::BIGINT FROM _issues WHERE ${here} AND ${REMOVED}) AS "secretsRemoved",
    (SELECT count(*) FROM _quarantine WHERE ${here}) AS quarantined`

const topSql = (table: '_drift' | '_issues', more: string, here: string): string => `
  SELECT record, path, ${more} seen, occurrences, last_seen AS "lastSeen", example_file AS "exampleFile"
  FROM ${table} WHERE ${here} ORDER BY occurrences DESC, path LIMIT ${TOP}`

/** `here` is the condition that names the workspace. */
export async function findingsStatus(rows: Rows, here: string): Promise<Findings> {
  const [counts] = await rows<Omit<Findings, 'topDrift' | 'topIssues' | 'agentsCutOff'>>(countsSql(here))
  const [cutOff] = await rows<{ issue: string }>(cutOffSql(here))
  return {
    ...NO_FINDINGS,
    ...counts,
    agentsCutOff: cutOff?.issue ?? null,
    topDrift: await rows<Finding>(topSql('_drift', '', here)),
    topIssues: await rows<IssueFinding>(topSql('_issues', 'issue, declared,', `${here} AND NOT ${REMOVED}`)),
  }
}
