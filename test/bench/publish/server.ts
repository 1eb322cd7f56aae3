// A PostgreSQL server for a bench, if `npm run test:bi` has installed one.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LakeTarget } from '../../../src/config/targets/ducklake.ts'
import type { PostgresTarget } from '../../../src/config/targets/postgres.ts'
import { DAY, HOUR } from '../../../src/core/time.ts'
import { EXTENSIONS, extensionFolder } from '../../bi/extensions.ts'
import { isInstalled } from '../../bi/installed.ts'
import { clientOf, postgresServer, SERVER } from '../../bi/postgres-server.ts'

/** The policy that publishes the most columns. */
export const KEEP = { identity: 'keep', staff: 'keep', device: 'keep', content: 'keep', label: 'keep' } as const

export interface BenchServer {
  /** The folder with DuckDB's extension. */
  extensions: string
  /** Returns a target in a schema that does not exist yet; drops the previous one. */
  newTarget(): Promise<PostgresTarget>
  /** Returns a lake with its catalog in the server and its files in that folder. */
  newLake(data: string): Promise<LakeTarget>
  /** Runs a statement outside of a transaction. */
  executeAlone(sql: string): Promise<void>
  remove(): Promise<void>
}

/** Returns null and prints a message if the server is not installed. */
export async function benchServer(): Promise<BenchServer | null> {
  const missing = [SERVER, EXTENSIONS].find(tool => !isInstalled(tool))
  if (missing) {
    console.error(`Without PostgreSQL: ${missing.about} is not installed. \`npm run test:bi\` installs it.`)
    return null
  }
  const folder = await mkdtemp(join(tmpdir(), 'convohouse-bench-'))
  const passwordFile = join(folder, 'password')
  const server = await postgresServer()
  await server.start()
  await writeFile(passwordFile, server.password)
  const admin = await clientOf(server, server)
  let count = 0
  async function newTarget(): Promise<PostgresTarget> {
    await admin.execute(
      `DROP SCHEMA IF EXISTS bench_${count} CASCADE; DROP SCHEMA IF EXISTS bench_${count}_marts CASCADE`,
    )
    const schema = `bench_${++count}`
    const place = { host: '127.0.0.1', port: server.port, database: 'postgres', user: 'admin' }
    return {
      ...{ name: 'pg', type: 'postgres', schema, pii: KEEP, rows: null, passwordFile },
      connection: { ...place, sslmode: 'prefer', sslrootcert: null },
    }
  }
  return {
    extensions: extensionFolder(),
    newTarget,
    async newLake(data) {
      const { connection, passwordFile } = await newTarget()
      return {
        ...{ name: 'lake', type: 'ducklake', pii: KEEP, rows: null, data, s3: null },
        catalog: { connection, passwordFile, schema: 'lake' },
        keepVersionsMs: DAY,
        keepFilesMs: HOUR,
      }
    },
    executeAlone: sql => admin.executeAlone(sql),
    async remove() {
      admin.close()
      await server.remove()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
