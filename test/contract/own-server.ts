// A dev server of its own for a block of tests, and a client of it.
import type { Client } from '@temporalio/client'
import { afterAll, beforeAll } from 'vitest'
import { connectClient } from '../../src/run/temporal/client/connection.ts'
import { type DevServer, type DevServerOptions, startDevServer } from '../../src/run/temporal/server/dev-server.ts'

/** Starts it before the block's tests, tells both, and ends both behind them. */
export function ownServer(options: DevServerOptions, told: (server: DevServer, client: Client) => void): void {
  let server: DevServer
  let client: Client
  beforeAll(async () => {
    server = await startDevServer(options)
    client = await connectClient({ address: server.address })
    told(server, client)
  })
  afterAll(async () => {
    await client.connection.close()
    await server.stop()
  })
}
