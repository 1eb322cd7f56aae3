// Addresses of landed pages. An address is unique in its data folder and independent of how the landing stores the page. It reads like a path:
//
//   <workspace>/conversations/<agent>/2026-11/20261120T204946123Z-tail-start-1732000000.g01.p000007.json.gz
//   <workspace>/agents/2026-11/20261120T204946123Z-agents-1f2e3d4c5b6a7988.g01.p000001.json.gz
//   <workspace>/organizations/2026-11/20261120T204946123Z-org-<organization>.g01.p000001.json.gz
//   <workspace>/teams/2026-11/20261120T204946123Z-teams-<organization>.g01.p000001.json.gz
//
// The month is the one in which the window was opened, so a folder contains at most one month of an agent's pages. Addresses are stored in
// `_loads`, `_folders` and findings, so their form must not change.
import { posix } from 'node:path'
import type { Stream } from '../catalog/resources/resources.ts'
import { caselessPathSegment, pathSegment } from '../files/path-segment.ts'

export interface PagePlace {
  stream: Stream
  /** Null for a stream of the whole workspace. */
  agentId: string | null
  /** Name of the window; begins with the compact time at which the window was opened. */
  window: string
  generation: number
  sequence: number
}

/** Returns the common beginning of the addresses of a stream's (and agent's) pages. */
export const streamFolder = (workspaceId: string, stream: Stream, agentId: string | null): string =>
  posix.join(pathSegment(workspaceId), stream, ...(agentId === null ? [] : [caselessPathSegment(agentId)]))

function pageName({ window, ...place }: Pick<PagePlace, 'window' | 'generation' | 'sequence'>): string {
  const generation = String(place.generation).padStart(2, '0')
  const sequence = String(place.sequence).padStart(6, '0')
  return `${window}.g${generation}.p${sequence}.json.gz`
}

const monthOf = ({ window }: PagePlace): string => `${window.slice(0, 4)}-${window.slice(4, 6)}`

export const pageAddress = (workspaceId: string, place: PagePlace): string =>
  posix.join(streamFolder(workspaceId, place.stream, place.agentId), monthOf(place), pageName(place))

/** Returns the folder of a page: its address up to the last slash. */
export const folderOf = (address: string): string => address.slice(0, address.lastIndexOf('/'))

const PAGE_NAME = /^(.+)\.g(\d+)\.p(\d+)\.json\.gz$/

/** Parses window, generation and sequence in a page's address or name; null for any other text. */
export function parsePageName(address: string): { window: string; generation: number; sequence: number } | null {
  const match = PAGE_NAME.exec(address.slice(address.lastIndexOf('/') + 1))
  return match ? { window: match[1]!, generation: Number(match[2]), sequence: Number(match[3]) } : null
}

/** Returns the address of the previous page in the generation; null for the first page. */
export function precedingAddress(page: {
  address: string
  window: string
  generation: number
  sequence: number
}): string | null {
  const { address, window, generation, sequence } = page
  return sequence > 1 ? `${folderOf(address)}/${pageName({ window, generation, sequence: sequence - 1 })}` : null
}
