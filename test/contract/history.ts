// Reads the contents of a workflow history as plain text, and records histories for `test/histories`.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { WorkflowHandle } from '@temporalio/client'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'

/** Returns every text in a history, including its decoded payloads. */
export function payloadTexts(history: object): string[] {
  const texts: string[] = []
  const walk = (value: unknown): void => {
    if (value instanceof Uint8Array) texts.push(Buffer.from(value).toString('utf8'))
    else if (typeof value === 'string') texts.push(value)
    else if (value !== null && typeof value === 'object') for (const inner of Object.values(value)) walk(inner)
  }
  walk(history)
  return texts
}

/** Keys whose values identify a worker; `record` empties them, because a replay does not use them. */
const WHO = new Set(['identity', 'stackTrace'])
/** The name of a sticky queue, which consists of a process id and a machine. */
const WHERE = /^\d+@/

const withoutPlaces = (key: string, value: unknown): unknown => {
  if (WHO.has(key)) return ''
  return typeof value === 'string' && WHERE.test(value) ? 'sticky' : value
}

/**
 * Writes the history to `test/histories` if RECORD_HISTORIES is set. Record each version once whose workflows newer
 * workers may have to continue.
 */
export async function record(handle: WorkflowHandle, name: string): Promise<void> {
  if (!process.env.RECORD_HISTORIES) return
  const text = historyToJSON(await handle.fetchHistory())
  const cleared = JSON.parse(text, withoutPlaces)
  await writeFile(join(import.meta.dirname, '../histories', `${name}.json`), `${JSON.stringify(cleared)}\n`)
}
