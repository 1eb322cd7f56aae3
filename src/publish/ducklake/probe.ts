// Tests a target's lake: that its catalog, and its data if they are in S3, can be reached and written, is not somebody else's, and what it consists of.
import { catalogText } from '../../config/lake-target.ts'
import type { LakeTarget } from '../../config/targets.ts'
import { counted } from '../../core/words.ts'
import type { TargetDatabase } from '../target-database.ts'
import type { ExtensionPlaces } from '../target-port.ts'
import { atDestination, connectedLake, loadExtensions } from './lake.ts'
import { withStoredTables } from './stored-tables.ts'

/**
 * @returns what was found, for people: `12 versions, the newest of 140 files`
 * @throws TARGET_UNUSABLE, TARGET_LOCKED, SECRET_MISSING, EXTENSION_UNAVAILABLE
 */
export async function probeLake(
  database: TargetDatabase,
  given: LakeTarget,
  extensions: ExtensionPlaces,
): Promise<string> {
  const target = await atDestination(given)
  await loadExtensions(database, target, extensions)
  const found = await connectedLake(database, { target, creates: false }, async lake => {
    await withStoredTables(lake, async () => {})
    const [row] = await database.rows<{ versions: string; files: string }>(`
      SELECT (SELECT count(*) FROM ${lake.catalogTable('ducklake_snapshot')})::VARCHAR AS versions,
        ((SELECT count(*) FROM ${lake.catalogTable('ducklake_data_file')} WHERE end_snapshot IS NULL)
          + (SELECT count(*) FROM ${lake.catalogTable('ducklake_delete_file')} WHERE end_snapshot IS NULL))::VARCHAR AS files`)
    return `${counted(Number(row!.versions), 'version')}, the newest of ${counted(Number(row!.files), 'file')}`
  })
  const contents = found ?? `the first publication creates ${catalogText(target)}`
  if (target.s3 === null) return contents
  const { probeData } = await import('../s3/probe.ts')
  return `${contents}; data in ${target.data} of ${await probeData(target.s3)}`
}
