// A lake for several readers, whose catalog is in PostgreSQL, and one of its readers: what it notices of publications.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { LakeTarget } from '../../../src/config/targets.ts'
import { DAY, HOUR } from '../../../src/core/time.ts'
import { extensionFolder } from '../../bi/extensions.ts'
import { type BenchServer, KEEP } from '../publish/server.ts'

/** The schema of the catalog. */
export const CATALOG = 'lake'

export async function readLake(server: BenchServer, data: string): Promise<LakeTarget> {
  const { connection, passwordFile } = await server.newTarget()
  return {
    ...{ name: 'lake', type: 'ducklake', pii: KEEP, rows: null, data, s3: null },
    catalog: { type: 'postgres', connection, passwordFile, schema: CATALOG },
    keepVersionsMs: DAY,
    keepFilesMs: HOUR,
  }
}

interface Answer {
  askedAtMs: number
  tookMs: number
}

export interface LakeReader {
  /** Times (ms) of the answers that it asked for in `durationMs`. */
  idle(durationMs: number): Promise<number[]>
  /** Times (ms) of the answers that it asked for while `work` ran. */
  during<T>(work: () => Promise<T>): Promise<{ result: T; times: number[] }>
  stop(): void
}

/** Starts it, and waits for its first answer. */
export async function startReader({ port, password }: BenchServer): Promise<LakeReader> {
  const program = fileURLToPath(new URL('reader.js', import.meta.url))
  const address = `ducklake:postgres:host=127.0.0.1 port=${port} dbname=postgres user=admin`
  const attach = `ATTACH '${address}' AS lake (READ_ONLY, METADATA_SCHEMA '${CATALOG}')`
  const child = spawn(process.execPath, [program, extensionFolder(), attach], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, PGPASSWORD: password },
  })
  const answers: Answer[] = []
  createInterface(child.stdout).on('line', line => {
    const [askedAtMs, tookMs] = line.split(' ').map(Number)
    answers.push({ askedAtMs: askedAtMs!, tookMs: tookMs! })
  })

  /** The answers, once one of them came at `ms` or later. */
  async function answersUntil(ms: number): Promise<readonly Answer[]> {
    while (!answers.some(({ askedAtMs, tookMs }) => askedAtMs + tookMs >= ms)) {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error('the reader has ended')
      await sleep(20)
    }
    return answers
  }

  async function during<T>(work: () => Promise<T>): Promise<{ result: T; times: number[] }> {
    answers.splice(0)
    const fromMs = Date.now()
    const result = await work()
    const toMs = Date.now()
    // The answer that it waits for at the end counts as well.
    const asked = (await answersUntil(toMs)).filter(({ askedAtMs }) => askedAtMs >= fromMs && askedAtMs < toMs)
    return { result, times: asked.map(({ tookMs }) => tookMs) }
  }

  await answersUntil(0)
  return {
    during,
    idle: async durationMs => (await during(() => sleep(durationMs))).times,
    stop: () => child.kill('SIGKILL'),
  }
}
