// A client and its scripted server; both are closed when the test ends.

import { onTestFinished } from 'vitest'
import type { VendorClientOptions } from '../../src/client/caller.ts'
import { createVendorClient, type VendorClient } from '../../src/client/client.ts'
import { VendorError } from '../../src/client/faults.ts'
import type { AttemptObserver, AttemptOutcome } from '../../src/client/http/attempts.ts'
import { type ScriptedAnswer, type ScriptedServer, startScriptedServer } from './scripted-server.ts'

export const TOKEN = 'sk_live_C4n4ry+T0ken/9=='

export interface Fixture {
  client: VendorClient
  server: ScriptedServer
  /** Waits that the client requested, in ms; the fixture skips them. */
  waits: number[]
}

export async function clientFor(
  script: ScriptedAnswer[],
  options: Partial<VendorClientOptions> & { path?: string } = {},
): Promise<Fixture> {
  const { path = '', ...rest } = options
  const server = await startScriptedServer(...script)
  const waits: number[] = []
  const sleep = async (ms: number) => void waits.push(ms)
  const client = createVendorClient({ apiUrl: server.url + path, token: TOKEN, random: () => 0.5, sleep, ...rest })
  onTestFinished(async () => {
    await server.stop()
    await client.close()
  })
  return { client, server, waits }
}

/** Returns an observer that allows this many attempts and records its calls. */
export function observer(allowed = Number.POSITIVE_INFINITY) {
  const outcomes: AttemptOutcome[] = []
  const attempts: AttemptObserver = {
    allow: attempt => attempt <= allowed,
    outcome: outcome => void outcomes.push(outcome),
  }
  return { attempts, outcomes }
}

export async function failureOf(promise: Promise<unknown>): Promise<VendorError> {
  const error = await promise.then(
    () => new Error('it did not fail'),
    (reason: unknown) => reason,
  )
  if (error instanceof VendorError) return error
  throw error
}
