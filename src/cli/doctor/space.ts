// The disk under the data folder: its kind, and whether there is room.
import { join } from 'node:path'
import { ConvohouseError } from '../../core/errors.ts'
import { warehouseFile } from '../../warehouse/open.ts'
import { landingSize, warehouseSize } from '../status/sizes.ts'
import { bytes } from '../terminal/words.ts'
import { nearest } from './disk.ts'
import { type FileSystem, volumeOf } from './file-system.ts'
import { examine, type Finding, fail, ok, warn } from './findings.ts'

export interface Room {
  freeBytes: number
  warehouseBytes: number
  landingBytes: number
}

const SPACE = { check: 'space' }
const FILE_SYSTEM = { check: 'file system' }

const MB = 1_000_000
/** Below this the next pages may not land. */
const TOO_LITTLE_BYTES = 64 * MB
/** DuckDB writes what does not fit in memory to disk, and the landing goes on growing. */
const LITTLE_BYTES = 1_000 * MB

export function spaceFinding({ freeBytes, warehouseBytes, landingBytes }: Room): Finding {
  const found = `${bytes(freeBytes)} free; the warehouse has ${bytes(warehouseBytes)}, the landing ${bytes(landingBytes)}`
  if (freeBytes < TOO_LITTLE_BYTES) {
    const hint = 'Give it room; what has landed is kept, and the next sync goes on.'
    return fail(SPACE, new ConvohouseError('HOME_UNUSABLE', { what: `The disk is full: ${found}.`, hint }))
  }
  if (freeBytes < warehouseBytes)
    return warn(SPACE, found, 'A replay builds a second warehouse beside the first: give the disk as much room again.')
  if (freeBytes < LITTLE_BYTES) return warn(SPACE, found, 'Give the disk more room before the next long sync.')
  return ok(SPACE, found)
}

export function fileSystemFinding(fileSystem: FileSystem | null): Finding {
  if (fileSystem === null) return ok(FILE_SYSTEM, 'of a kind that is not told; it passed the writing above')
  const { name, nature } = fileSystem
  if (nature === 'network') {
    const hint =
      'Move the data folder to a local disk: over the network, locks and syncs may not hold what they promise.'
    return warn(FILE_SYSTEM, `${name}, which may be a network's`, hint)
  }
  if (nature === 'memory')
    return warn(
      FILE_SYSTEM,
      `${name}: it is memory`,
      'Move the data folder to a disk: this one is gone at the next start.',
    )
  return ok(FILE_SYSTEM, name)
}

/** Findings about space and file system. */
export function diskChecks(home: string): Promise<Finding[]> {
  return examine(SPACE, async () => {
    const { freeBytes, fileSystem } = await volumeOf(await nearest(home))
    const warehouseBytes = await warehouseSize(warehouseFile(home))
    const landingBytes = await landingSize(join(home, 'landing'))
    return [spaceFinding({ freeBytes, warehouseBytes, landingBytes }), fileSystemFinding(fileSystem)]
  })
}
