// A warehouse, a PostgreSQL server, and targets in it, for one test file.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import type { PostgresTarget } from '../../src/config/targets/postgres.ts'
import type { ConvohouseError } from '../../src/core/errors.ts'
import type { PublicationReport } from '../../src/core/publication-report.ts'
import type { PublishOptions } from '../../src/publish/publish.ts'
import { KEEP, publishTo, SETTINGS } from '../publish/published.ts'
import { landConversations, SENT_AT_MS } from '../warehouse/landed-pages.ts'
import { type TemporaryWarehouse, temporaryWarehouse, type Workspace } from '../warehouse/temporary-warehouse.ts'
import { EXTENSIONS, extensionFolder } from './extensions.ts'
import { whyLacking } from './lacking.ts'
import { type Client, clientOf, type PostgresServer, postgresServer, SERVER } from './postgres-server.ts'

export interface PostgresScene {
  app: TemporaryWarehouse
  server: PostgresServer
  admin: Client
  /** The folder with DuckDB's extensions. */
  extensions: string
  /** Returns a target with a schema that no other test uses. */
  newTarget(settings?: Partial<PostgresTarget>, connection?: Partial<PostgresTarget['connection']>): PostgresTarget
  /** Publishes and compares the target with the warehouse. */
  publish(target: PostgresTarget, options?: Partial<PublishOptions>): Promise<PublicationReport>
}

/** Describes tests that need a PostgreSQL server. */
export const describeWithPostgres = describe.skipIf([SERVER, EXTENSIONS].some(tool => whyLacking(tool) !== null))

let targets = 0

/** Call it only in a test file: the server starts before the first test. */
export function postgresScene(): PostgresScene {
  const app = temporaryWarehouse()
  const scene = { app } as PostgresScene

  beforeAll(async () => {
    scene.extensions = extensionFolder()
    scene.server = await postgresServer()
    await scene.server.start()
    scene.admin = await clientOf(scene.server, scene.server)
    await writeFile(join(app.home, 'password'), `${scene.server.password}\n`)
  })

  afterAll(async () => {
    scene.admin.close()
    await scene.server.remove()
  })

  scene.newTarget = (settings = {}, connection = {}) => {
    const name = `bi${++targets}`
    const place = { host: '127.0.0.1', port: scene.server.port, database: 'postgres', user: 'admin' }
    return {
      ...{ name, type: 'postgres', schema: name, pii: KEEP, rows: null, passwordFile: join(app.home, 'password') },
      connection: { ...place, sslmode: 'prefer', sslrootcert: null, ...connection },
      ...settings,
    }
  }
  scene.publish = (target, options = {}) =>
    publishTo(app, target, { settings: { ...SETTINGS, extensions: scene.extensions }, verify: true, ...options })
  return scene
}

export const failureOf = (work: Promise<unknown>): Promise<ConvohouseError> =>
  work.then(
    () => {
      throw new Error('it did not fail')
    },
    error => error,
  )

export const load = async (place: Workspace, records: object[], minute = 0) =>
  place.load(await landConversations(place.landing, { records, sentAtMs: SENT_AT_MS + minute * 60_000 }))
