// Folders of the spool. The folder of a segment is its stage; the segment keeps its name in all folders.
//
//   spool/<workspace>/open/20261121T204946123Z-1f0c9a2e-000001.ndjson a receiver writes it
//   spool/<workspace>/abandoned/… its receiver has died: acknowledged events are recovered from it
//   spool/<workspace>/sealed/… complete and immutable, ready to apply
//   spool/<workspace>/drained/2026-11-21.ndjson applied, by day (archive.ts)
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathSegment } from '../files/path-segment.ts'

export interface SpoolFolders {
  open: string
  abandoned: string
  sealed: string
  drained: string
}

export const spoolRoot = (home: string): string => join(home, 'spool')

export const spoolFolder = (home: string, workspaceId: string): string =>
  join(spoolRoot(home), pathSegment(workspaceId))

export function spoolFolders(home: string, workspaceId: string): SpoolFolders {
  const folder = spoolFolder(home, workspaceId)
  const stage = (name: keyof SpoolFolders) => join(folder, name)
  return { open: stage('open'), abandoned: stage('abandoned'), sealed: stage('sealed'), drained: stage('drained') }
}

/** True if the workspace has received events. */
export const hasSpool = (home: string, workspaceId: string): boolean => existsSync(spoolFolder(home, workspaceId))

const SEGMENT = /^\d{8}T\d{9}Z-[0-9a-f]+-\d{6,}\.ndjson$/

export const isSegment = (name: string): boolean => SEGMENT.test(name)

/** Returns a unique name, which contains the writer's id and the writer's counter. */
export const segmentName = (parts: { opened: string; writer: string; number: number }): string =>
  `${parts.opened}-${parts.writer}-${String(parts.number).padStart(6, '0')}.ndjson`
