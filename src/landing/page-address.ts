// Names in the landing: listing a folder tells the story.
//
//   <workspace>/conversations/<agent>/2026-11/20261120T204946123Z-tail-start-1732000000.g01.p000007.json.gz
//   <workspace>/agents/2026-11/20261120T204946123Z-agents-1f2e3d4c5b6a7988.g01.p000001.json.gz
//   <workspace>/organizations/2026-11/20261120T204946123Z-org-<organization>.g01.p000001.json.gz
//   <workspace>/teams/2026-11/20261120T204946123Z-teams-<organization>.g01.p000001.json.gz
//
// The month is the one in which the window was opened, so that a folder holds at most a month of an agent's pages.
import { posix } from 'node:path'
import type { Stream } from '../catalog/resources.ts'
import { caselessPathSegment, pathSegment } from '../files/path-segment.ts'

export interface PagePlace {
  stream: Stream
  /** The agent whose page it is; null for a stream of the whole workspace. */
  agentId: string | null
  /** Name of the window; it begins with the compact time at which it was opened. */
  window: string
  generation: number
  sequence: number
}

/** Folder of a stream's (and agent's) pages, below the landing's root. */
export const streamFolder = (workspaceId: string, stream: Stream, agentId: string | null): string =>
  posix.join(pathSegment(workspaceId), stream, ...(agentId === null ? [] : [caselessPathSegment(agentId)]))

/** File name of a page. */
export function pageName({ window, ...place }: Pick<PagePlace, 'window' | 'generation' | 'sequence'>): string {
  const generation = String(place.generation).padStart(2, '0')
  const sequence = String(place.sequence).padStart(6, '0')
  return `${window}.g${generation}.p${sequence}.json.gz`
}

const monthOf = ({ window }: PagePlace): string => `${window.slice(0, 4)}-${window.slice(4, 6)}`

/** Path of a page below the landing's root. */
export const pageAddress = (workspaceId: string, place: PagePlace): string =>
  posix.join(streamFolder(workspaceId, place.stream, place.agentId), monthOf(place), pageName(place))

/** Where earlier versions landed it: agents' folders differed by case alone. */
export const legacyPageAddress = (workspaceId: string, place: PagePlace): string =>
  posix.join(
    streamFolder(workspaceId, place.stream, null),
    ...(place.agentId === null ? [] : [pathSegment(place.agentId)]),
    monthOf(place),
    pageName(place),
  )

const PAGE_NAME = /^(.+)\.g(\d+)\.p(\d+)\.json\.gz$/

/** Window, generation and sequence out of a file name; null where the file is no page. */
export function parsePageName(name: string): { window: string; generation: number; sequence: number } | null {
  const match = PAGE_NAME.exec(name)
  return match ? { window: match[1]!, generation: Number(match[2]), sequence: Number(match[3]) } : null
}
