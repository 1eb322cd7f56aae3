// Tests with Temporal share one dev server, in which each test file has its own namespace. An import of this module
// waits until the server is ready or known to be unavailable.
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '@temporalio/client'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { connectClient, type TemporalPlace } from '../../../src/run/temporal/client/connection.ts'
import { namespaceOf, type TemporalVerdict } from '../../temporal-command.ts'

export interface Temporal {
  /** Path of the Temporal CLI, for tests that kill or configure a separate server. */
  command: string
  /** Address of the shared server, and the namespace of the test file. */
  place: TemporalPlace
  /** Environment variables that point a command at that server and namespace. */
  env: { TEMPORAL_ADDRESS: string; TEMPORAL_NAMESPACE: string }
}

/** Time to wait for the server: longer than a build of the Temporal CLI takes. */
const PATIENCE_MS = 900_000

async function verdict(): Promise<TemporalVerdict> {
  const temporal = inject('temporal')
  if (temporal === null) throw new Error('vitest found no file that needs Temporal')
  if ('command' in temporal) return temporal
  for (const untilMs = Date.now() + PATIENCE_MS; Date.now() < untilMs; await sleep(200)) {
    const written = await readFile(temporal.verdict, 'utf8').catch(() => null)
    if (written !== null) return JSON.parse(written) as TemporalVerdict
  }
  return { command: null, reason: `no Temporal CLI within ${PATIENCE_MS / 60_000} minutes` }
}

const found = await verdict()

/** Describes tests that need Temporal. If its CLI is not available, they fail in CI and are skipped elsewhere. */
export function describeWithTemporal(name: string, tests: (temporal: Temporal) => void): void {
  if (found.command !== null) {
    const { command, address } = found
    const namespace = namespaceOf(expect.getState().testPath!)
    const env = { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace }
    return void describe(name, () => tests({ command, place: { address, namespace }, env }))
  }
  const { reason } = found
  const missing = () => {
    throw new Error(reason)
  }
  describe.skipIf(!process.env.CI)(name, () => it('needs the Temporal CLI', missing))
}

/** Opens a client before the tests of a `describe` block, passes it to `use`, and closes it after them. */
export function connected(place: TemporalPlace, use: (client: Client) => void): void {
  let client: Client
  beforeAll(async () => {
    client = await connectClient(place)
    use(client)
  })
  afterAll(() => client.connection.close())
}
