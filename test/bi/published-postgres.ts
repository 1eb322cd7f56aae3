// PostgreSQL as the compose profile `bi` sets it up: the roles of deploy/postgres, the target of the page about
// Grafana, and a read-only reader.
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { parse } from 'yaml'
import { type Client, clientOf, type PostgresServer, postgresServer } from './postgres-server.ts'
import { type PublishedScene, publishedScene } from './published-scene.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

const PASSWORDS = { publisher: "publisher's", reader: 'reader' }

export const READER = { user: 'reader', password: PASSWORDS.reader } as const

/** Returns the statements of roles.sql, as psql sends them. */
const roles = (): string =>
  read('deploy/postgres/roles.sql')
    .replace(/^\\.*$/gm, '')
    .replace(/:'(\w+)_password'/g, (_, role: keyof typeof PASSWORDS) => `'${PASSWORDS[role].replaceAll("'", "''")}'`)

/** Returns the target that the page configures. */
function pagesTarget(): object {
  const [, yaml] = /```yaml\n([^`]+)```/.exec(read('docs/bi/grafana.md'))!
  return (parse(yaml!) as { targets: object[] }).targets[0]!
}

export interface PublishedPostgres {
  server: PostgresServer
  admin: Client
  /** Client with the role of the page. */
  reader: Client
  scene: PublishedScene
}

/** Call it only in a test file: the server starts, and is published to, before the first test. */
export function publishedPostgres(): PublishedPostgres {
  const published = {} as PublishedPostgres
  let folder: string
  let passwordFile: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'convohouse-published-'))
    const server = await postgresServer()
    published.server = server
    // The time zone is not UTC, as on many servers.
    await server.start(['-c', 'timezone=America/New_York'])
    published.admin = await clientOf(server, server)
    // Runs twice, because the service runs the statements at each start.
    for (let start = 0; start < 2; start++) await published.admin.execute(roles())
    passwordFile = join(folder, 'publisher-password')
    await writeFile(passwordFile, `${PASSWORDS.publisher}\n`)
    published.reader = await clientOf(server, READER)
  })

  afterAll(async () => {
    published.reader?.close()
    published.admin?.close()
    await published.server?.remove()
    await rm(folder, { recursive: true, force: true })
  })

  published.scene = publishedScene(() => {
    const { port } = published.server
    return [{ ...pagesTarget(), host: '127.0.0.1', port, database: 'postgres', passwordFile }]
  })
  return published
}
