// The next file of a target `snapshot`, which takes the place of the published one when it is complete. Two processes write it, one after the
// other: of a refill, the one that holds the warehouse writes the rows, and the target's own process the rest.
import { quoteText } from '../../../catalog/layout.ts'
import type { SnapshotTarget } from '../../../config/targets/snapshot.ts'
import { ROW_GROUP_ROWS } from '../../../warehouse/open.ts'
import { ATTACHED } from '../../attached.ts'

/** DuckDB 1.1 and all later versions read the first version; it refuses the second, which has zstd for long texts. */
const STORAGE_VERSION = { plain: 'v1.0.0', compressed: 'v1.2.0' }

/** No file of anybody else has such a name. */
export const nextFile = (path: string, publicationId: string): string => `${path}.${publicationId}.next`

/** How the names of next files and their logs end, also those of killed publications. */
export const NEXT_ENDING = /^\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.next(\.wal)?$/

/** SQL that creates the file, or opens it to write: with larger row groups of wide rows, a refill needs more than the memory limit. */
export function attachNext(
  { path, compress }: Pick<SnapshotTarget, 'path' | 'compress'>,
  publicationId: string,
): string {
  const version = compress ? STORAGE_VERSION.compressed : STORAGE_VERSION.plain
  const options = `ROW_GROUP_SIZE ${ROW_GROUP_ROWS}, STORAGE_VERSION '${version}'`
  return `ATTACH ${quoteText(nextFile(path, publicationId))} AS ${ATTACHED} (${options})`
}

export const DISK_HINT =
  'Free disk space or make the folder of the target writable. The published file is as it was before; the next publication tries again.'
