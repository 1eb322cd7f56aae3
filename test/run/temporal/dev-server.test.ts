// The Temporal dev server that `up` starts: its namespaces, its UI, its port, and how it stops.
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
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

/** Waits until that process has exited; rejects after ten seconds. */
async function gone(pid: number): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if (!isAlive(pid)) return
    await sleep(50)
  }
  throw new Error(`process ${pid} still runs`)
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

  it('ends with the process that started it, even if that is killed', async () => {
    const module = join(import.meta.dirname, '../../../dist/src/run/temporal/server/dev-server.js')
    const script = `
      const { startDevServer } = await import(process.argv[1])
      const { pid } = await startDevServer({ command: process.argv[2] })
      console.log(pid)
      setInterval(() => {}, 1000)`
    const child = spawn(process.execPath, ['--input-type=module', '-e', script, module, command], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const pid = await new Promise<number>(resolve => child.stdout.once('data', text => resolve(Number(text))))
    expect(isAlive(pid)).toBe(true)
    child.kill('SIGKILL')
    await gone(pid)
  })

  it('reports that it was killed, and a new one continues from its file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'convohouse-temporal-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const file = join(folder, 'temporal.db')
    const first = await startDevServer({ command, file, namespaces: ['kept'] })
    process.kill(first.pid, 'SIGKILL')
    await first.ended
    const second = await startDevServer({ command, file })
    onTestFinished(() => second.stop())
    expect(await namespacesAt(second.address)).toContain('kept')
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
