// The processes of a sync on Temporal: a server, two export workers and a warehouse worker. A killed process is restarted.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '@temporalio/client'
import { PLAIN_SYNC } from '../../../src/run/embedded.ts'
import { connectClient } from '../../../src/run/temporal/client/connection.ts'
import { askForSync, ownerId } from '../../../src/run/temporal/client/owner.ts'
import { type DevServer, startDevServer } from '../../../src/run/temporal/server/dev-server.ts'
import type { SyncReport } from '../../../workflows/steps.ts'
import { type Running, startCommand } from '../../command.ts'

export const VICTIMS = ['export 1', 'export 2', 'warehouse', 'server'] as const
export type Victim = (typeof VICTIMS)[number]
type WorkerName = Exclude<Victim, 'server'>

export interface Team {
  /** Starts a sync; resolves when the server has accepted it. Processes may be restarted before that. */
  ask(): Promise<void>
  isRunning(): Promise<boolean>
  /** Waits until the last sync has ended, and returns its result. */
  report(): Promise<SyncReport | null>
  /** Kills one process and restarts it; resolves when it is ready. */
  kill(victim: Victim): Promise<void>
  /** Runs `work` while no process holds the warehouse. */
  withoutWarehouse<T>(work: () => Promise<T>): Promise<T>
  close(): Promise<void>
}

export interface TeamOptions {
  /** Path of the Temporal CLI. */
  command: string
  config: string
  queues: string
  workspaceId: string
  env: Record<string, string>
  /** Folder for the server's database. */
  folder: string
}

/** Maximum time that a call waits for a killed server, which is back within seconds. */
const PATIENCE_MS = 60_000

/** Retries `work`, because the server may be killed at any time. */
async function eventually<T>(work: () => Promise<T>): Promise<T> {
  const untilMs = performance.now() + PATIENCE_MS
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (performance.now() > untilMs) throw error
      await sleep(200)
    }
  }
}

const roleOf = (name: WorkerName): string => (name === 'warehouse' ? 'warehouse' : 'export')

async function startWorker(name: WorkerName, { config, env }: TeamOptions, address: string): Promise<Running> {
  const args = ['worker', '--role', roleOf(name), '--config', config]
  const worker = startCommand(args, { env: { ...env, TEMPORAL_ADDRESS: address } })
  await worker.said(`worker (${roleOf(name)}) for `)
  return worker
}

function asking(client: Client, { queues, workspaceId }: TeamOptions): Pick<Team, 'ask' | 'isRunning' | 'report'> {
  const handle = client.workflow.getHandle<() => Promise<SyncReport | null>>(ownerId(workspaceId))
  return {
    ask: () =>
      eventually(async () => void (await askForSync(client, { queues, request: { ...PLAIN_SYNC, workspaceId } }))),
    isRunning: () => eventually(async () => (await handle.describe()).status.name === 'RUNNING'),
    report: () => handle.result(),
  }
}

export async function startTeam(options: TeamOptions): Promise<Team> {
  const { command, folder } = options
  const file = join(folder, 'temporal.db')
  let server: DevServer = await startDevServer({ command, file })
  const { address } = server
  const port = Number(address.split(':')[1])
  const workers = new Map<WorkerName, Running>()
  const begin = async (name: WorkerName) => void workers.set(name, await startWorker(name, options, address))
  for (const name of VICTIMS) if (name !== 'server') await begin(name)
  const client = await connectClient({ address })

  async function end(name: WorkerName, signal: NodeJS.Signals): Promise<void> {
    await workers.get(name)?.kill(signal)
    workers.delete(name)
  }
  async function killServer(): Promise<void> {
    process.kill(server.pid, 'SIGKILL')
    await server.ended
    server = await startDevServer({ command, file, port })
  }
  return {
    ...asking(client, options),
    async kill(victim) {
      if (victim === 'server') return killServer()
      await end(victim, 'SIGKILL')
      await begin(victim)
    },
    async withoutWarehouse(work) {
      await end('warehouse', 'SIGTERM')
      try {
        return await work()
      } finally {
        await begin('warehouse')
      }
    },
    async close() {
      await client.connection.close()
      for (const name of [...workers.keys()]) await end(name, 'SIGKILL')
      await server.stop()
      await rm(file, { force: true })
    },
  }
}
