// The Temporal dev server that `up` starts: its namespaces, its UI, its port, and how it stops. `test/contract/up.test.ts` kills it and its parent.
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Connection } from '@temporalio/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connectClient } from '../../../src/run/temporal/client/connection.ts'
import { startDevServer } from '../../../src/run/temporal/server/dev-server.ts'
import { describeWithTemporal } from './with-temporal.ts'

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function namespacesAt(address: string): Promise<string[]> {
  const connection = await Connection.connect({ address })
  try {
    const { namespaces } = await connection.workflowService.listNamespaces({})
    return namespaces.map(({ namespaceInfo }) => namespaceInfo?.name ?? '')
  } finally {
    await connection.close()
  }
}

describeWithTemporal('a dev server', ({ command }) => {
  it('answers with its namespaces once started and is gone once stopped; a client then retries until it is closed', async () => {
    const server = await startDevServer({ command, namespaces: ['acme'] })
    expect(await namespacesAt(server.address)).toEqual(expect.arrayContaining(['default', 'acme']))
    expect(server.uiUrl).toBeNull()
    const client = await connectClient(server)
    await server.stop()
    expect(isAlive(server.pid)).toBe(false)
    const asked = client.connection.workflowService.describeNamespace({ namespace: 'default' })
    // Closes the client between two attempts: the first is refused at once; the second follows after at least a tenth of a second.
    await sleep(50)
    await client.connection.close()
    await expect(asked).rejects.toMatchObject({ code: 1, details: expect.stringContaining('shut down') })
  })

  it('serves its UI on request; another one on its port reports that it is in use', async () => {
    const there = await startDevServer({ command, uiPort: 0 })
    onTestFinished(() => there.stop())
    expect((await fetch(there.uiUrl!)).status).toBe(200)
    const port = Number(there.address.split(':')[1])
    const begun = startDevServer({ command, port })
    await expect(begun).rejects.toMatchObject({
      code: 'TEMPORAL_UNREACHABLE',
      message: expect.stringContaining('in use'),
    })
  })
})

describe('a command that is not a Temporal CLI', () => {
  it('is reported with its error', async () => {
    const started = startDevServer({ command: join(tmpdir(), 'no-such-temporal') })
    await expect(started).rejects.toMatchObject({
      code: 'TEMPORAL_UNREACHABLE',
      message: expect.stringContaining('ENOENT'),
    })
  })
})
