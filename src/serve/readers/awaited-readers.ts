// Readers of a snapshot that may not be published yet: until it is, requests fail with SNAPSHOT_MISSING.
import { systemClock } from '../../clock.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { SECOND } from '../../core/time.ts'
import type { SnapshotReaders } from './snapshot-readers.ts'

const RETRY_MS = SECOND

/** Resolves after the first attempt to open the snapshot. `hint` tells how it gets published. */
export async function awaitReaders(open: () => Promise<SnapshotReaders>, hint: string): Promise<SnapshotReaders> {
  const ending = new AbortController()
  let readers: SnapshotReaders | null = null
  let cause: unknown
  const attempt = async () => {
    readers = await open().catch(error => {
      cause = error
      return null
    })
  }
  await attempt()
  const opening = (async () => {
    while (readers === null && !ending.signal.aborted) {
      await systemClock.sleepUntil(systemClock.now() + RETRY_MS, ending.signal).catch(() => {})
      if (!ending.signal.aborted) await attempt()
    }
  })()
  const current = (): SnapshotReaders => {
    if (readers !== null) return readers
    throw new ConvohouseError('SNAPSHOT_MISSING', { what: 'The snapshot cannot be read yet.', hint, cause })
  }
  return {
    state: () => current().state(),
    rows: async sql => current().rows(sql),
    reading: async work => current().reading(work),
    query: async query => current().query(query),
    async close() {
      ending.abort()
      await opening
      await readers?.close()
    },
  }
}
