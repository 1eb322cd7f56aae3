// Publishes an erasure to every target. A target that refuses it stays open in the receipt, and the next publication repeats it.
import type { Config } from '../../config.ts'
import { publish } from '../../publish/publish.ts'
import type { OpenPlace } from '../../reports/erasures.ts'
import { openAppWhenReleased } from '../open-app.ts'

/** @returns the targets that have not published it, and why @throws WAREHOUSE_LOCKED, HOME_UNUSABLE */
export async function publishErasure(config: Config): Promise<OpenPlace[]> {
  const { home, threads, extensions, models, workspaces, targets } = config
  if (targets.length === 0) return []
  const app = await openAppWhenReleased(config)
  const settings = { ...config.publish, threads, extensions, models, workspaces }
  const open: OpenPlace[] = []
  try {
    for (const target of targets) {
      const { unmaintained } = await publish({ warehouse: app.warehouse, home, target, settings }).catch(error => ({
        unmaintained: (error as Error).message,
      }))
      if (unmaintained !== undefined) open.push({ place: target.name, why: unmaintained })
    }
  } finally {
    await app.close()
  }
  return open
}
