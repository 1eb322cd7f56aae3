// Finishes erasures, and publishes them to every target. A target that refuses it stays open in the receipt, and the next publication repeats it.
import type { Config } from '../../config.ts'
import { pendingErasures } from '../../landing/tombstones.ts'
import { publish } from '../../publish/publish.ts'
import { filledTargets, type OpenPlace } from '../../reports/erasures.ts'
import { openAppWhenReleased } from '../open-app.ts'

/** @returns the targets that have not published it, and why @throws WAREHOUSE_LOCKED, and the errors of `replay` */
export async function eraseAndPublish(config: Config): Promise<OpenPlace[]> {
  const { home, threads, extensions, models, workspaces } = config
  const app = await openAppWhenReleased(config)
  const settings = { ...config.publish, threads, extensions, models, workspaces }
  const open: OpenPlace[] = []
  try {
    for (const target of filledTargets(config)) {
      const { unmaintained } = await publish({ warehouse: app.warehouse, home, target, settings }).catch(error => ({
        unmaintained: (error as Error).message,
      }))
      if (unmaintained !== undefined) open.push({ place: target.name, why: unmaintained })
    }
  } finally {
    await app.close()
  }
  // Beside this process, others may have been forgotten.
  return (await pendingErasures(home)).length > 0 ? eraseAndPublish(config) : open
}
