// The quarantined records, as the warehouse lists them.
import { createHash } from 'node:crypto'
import { ConvohouseError } from '../../core/errors.ts'
import type { Rows } from '../status/reading.ts'

export interface QuarantineFlags {
  config?: string
  workspace?: string
  json?: boolean
}

export interface Entry {
  /** Short name of file and element. */
  id: string
  workspaceId: string
  /** Record type. */
  record: string
  file: string
  /** Position in the page, from 1. */
  element: number
  reason: string
  /** ISO-8601 */
  since: string
}

const ID_LENGTH = 8

const idOf = (file: string, element: number): string =>
  createHash('sha256').update(`${file}#${element}`).digest('hex').slice(0, ID_LENGTH)

/** Every quarantined record of a workspace, or of all; oldest first. */
export async function quarantined(rows: Rows, workspaceId?: string): Promise<Entry[]> {
  const found = await rows<Omit<Entry, 'id'>>(`
    SELECT workspace_id AS "workspaceId", record, file, element, reason, quarantined_at AS since
    FROM _quarantine ORDER BY quarantined_at, file, element`)
  return found
    .filter(entry => workspaceId === undefined || entry.workspaceId === workspaceId)
    .map(entry => ({ id: idOf(entry.file, entry.element), ...entry }))
}

/** The entries that are named, by id or as FILE#ELEMENT. @throws RECORD_UNKNOWN */
export function named(entries: readonly Entry[], names: readonly string[]): Entry[] {
  return names.map(name => {
    const entry = entries.find(({ id, file, element }) => name === id || name === `${file}#${element}`)
    if (entry) return entry
    throw new ConvohouseError('RECORD_UNKNOWN', {
      what: `No quarantined record is called ${JSON.stringify(name)}.`,
      hint: 'Use an id that `convohouse quarantine list` shows, or FILE#ELEMENT.',
    })
  })
}
