// Loads random pages of new conversations into a workspace while other work runs, as a sync does while targets are published to.
import { setTimeout as sleep } from 'node:timers/promises'
import { landConversations, SENT_AT_MS } from '../warehouse/landed-pages.ts'
import type { Workspace } from '../warehouse/temporary-warehouse.ts'

export async function whileLoading(place: Workspace, work: () => Promise<void>): Promise<void> {
  let isOver = false
  let ids = 0
  const load = async () => {
    const records = Array.from({ length: 1 + Math.floor(Math.random() * 5) }, () => ({ ID: `c${ids++}` }))
    await place.load(await landConversations(place.landing, { records, sentAtMs: SENT_AT_MS + ids }))
  }
  await load()
  const loading = (async () => {
    while (!isOver) {
      await load()
      // Leaves processor time to the work.
      await sleep(100)
    }
  })()
  try {
    await work()
  } finally {
    isOver = true
    await loading
  }
}
