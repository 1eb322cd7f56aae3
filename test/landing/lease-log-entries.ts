// Reads every entry in the files of a lease log, including files that were set aside.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { LeaseEntry } from '../../src/core/governor/lease-entries.ts'

export function leaseLogEntries(home: string, workspaceId: string): LeaseEntry[] {
  const folder = join(home, 'landing', workspaceId, 'ledger')
  const texts = readdirSync(folder)
    .sort()
    .map(name => ({ bytes: readFileSync(join(folder, name)), isPacked: name.includes('.gz') }))
    .map(({ bytes, isPacked }) => String(isPacked ? gunzipSync(bytes) : bytes))
  const lines = texts.flatMap(text => text.split('\n')).filter(line => line !== '')
  const entries = lines.map(line => JSON.parse(line) as LeaseEntry & { id: string })
  return [...new Map(entries.map(({ id, ...entry }) => [id, entry as LeaseEntry])).values()]
}
