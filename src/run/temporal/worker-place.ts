// The Temporal server of the worker that holds the warehouse, as a file in the data folder: a command beside the worker, whose environment may
// name no server, finds it there. After a kill the file stays until the next worker; its server then may not answer.
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TemporalPlace } from './client/connection.ts'

const placeFile = (home: string): string => join(home, 'temporal.json')

/** To be called by the process that holds the warehouse. Without the file, commands need TEMPORAL_ADDRESS: a full disk is no error here. */
export async function storePlace(home: string, { address, namespace }: TemporalPlace): Promise<void> {
  await writeFile(placeFile(home), `${JSON.stringify({ address, namespace })}\n`).catch(() => {})
}

export const removePlace = (home: string): Promise<void> => rm(placeFile(home), { force: true }).catch(() => {})

/** Null if no worker has stored it. */
export async function storedPlace(home: string): Promise<TemporalPlace | null> {
  try {
    const { address, namespace } = JSON.parse(await readFile(placeFile(home), 'utf8'))
    return typeof address === 'string' && typeof namespace === 'string' ? { address, namespace } : null
  } catch {
    return null
  }
}
