// Reads the contents of a workflow history as plain text, and records histories for `test/histories`.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { WorkflowHandle } from '@temporalio/client'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'

/** Every payload of a history, decoded, and every other text in it. */
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

/** Worker identities, which a replay does not use. */
const WHO = new Set(['identity', 'stackTrace'])
/** A process and its machine, as a sticky queue is named. */
const WHERE = /^\d+@/

const withoutPlaces = (key: string, value: unknown): unknown => {
  if (WHO.has(key)) return ''
  return typeof value === 'string' && WHERE.test(value) ? 'sticky' : value
}

/** With RECORD_HISTORIES set, writes the history: once for each version whose workflows newer workers may have to continue. */
export async function record(handle: WorkflowHandle, name: string): Promise<void> {
  if (!process.env.RECORD_HISTORIES) return
  const text = historyToJSON(await handle.fetchHistory())
  const cleared = JSON.parse(text, withoutPlaces)
  await writeFile(join(import.meta.dirname, '../histories', `${name}.json`), `${JSON.stringify(cleared)}\n`)
}
