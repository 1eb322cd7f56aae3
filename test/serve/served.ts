// A server over a published corpus, for the tests of a file, and a client that can send any header.
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { DuckDBInstance } from '@duckdb/node-api'
import { afterAll, beforeAll, expect } from 'vitest'
import type { SnapshotTarget } from '../../src/config/targets/snapshot.ts'
import { type AccessTokens, openAccessTokens } from '../../src/landing/access-tokens.ts'
import { METRICS } from '../../src/metrics/all-metrics.ts'
import { createToken, type Scope } from '../../src/serve/access/tokens.ts'
import { type ColumnClasses, columnClasses, plainColumns } from '../../src/serve/column-classes.ts'
import { DeclaredMetrics } from '../../src/serve/declared-metrics.ts'
import { Pages } from '../../src/serve/pages.ts'
import { openSnapshotReaders, type SnapshotReaders } from '../../src/serve/readers/snapshot-readers.ts'
import { type RunningServe, type ServeOptions, startServe } from '../../src/serve/serve.ts'
import { root } from '../import-graph.ts'
import { newTarget, publishTo } from '../publish/published.ts'
import { temporaryFolder } from '../scene.ts'
import { type CorpusWarehouse, corpusWarehouse } from '../warehouse/corpus/template.ts'

export interface Served {
  app: CorpusWarehouse
  readers: SnapshotReaders
  classes: ColumnClasses
  /** The published file. */
  path: string
  running: RunningServe
  tokens: AccessTokens
  /** Opens readers of another published file; the caller closes them. */
  read(target: SnapshotTarget): Promise<SnapshotReaders>
  /** Starts another server over the same snapshot, with no token; it ends with the file. */
  start(options?: Partial<ServeOptions>): Promise<{ running: RunningServe; tokens: AccessTokens }>
}

/** Opens the server. Call it at the top level of a file. `added`: SQL that adds rows to the published file first. */
export function served({ added }: { added?: string } = {}): Served {
  const app = corpusWarehouse()
  const opened = { app } as Served
  const closers: (() => Promise<unknown>)[] = []
  beforeAll(async () => {
    const target = newTarget(app.home)
    await publishTo(app, target)
    if (added !== undefined) await writing(target.path, added)
    opened.path = target.path
    const classes = await columnClasses(null, target.pii)
    opened.classes = classes
    opened.read = async ({ path: file, pii }) =>
      openSnapshotReaders({
        ...{ file, folder: join(app.home, 'serve'), lookEveryMs: 50 },
        plainColumns: plainColumns(await columnClasses(null, pii)),
        entry: new URL('../../dist/src/serve/readers/query-process.js', import.meta.url),
        ...{ memoryLimit: '400MB', threads: 1, maxSpill: '50MB' },
      })
    opened.readers = await opened.read(target)
    opened.start = async (options = {}) => {
      const { folder, remove } = await temporaryFolder()
      const tokens = openAccessTokens(folder)
      const running = await startServe({
        settings: { address: { host: '127.0.0.1', port: 0 }, hosts: ['figures.example.com'], basePath: '' },
        ...{
          tokens,
          readers: opened.readers,
          classes,
          metrics: new DeclaredMetrics(METRICS, classes),
          pages: new Pages({ folder: null, metrics: METRICS, onProblem: expect.unreachable }),
          pipeline: async () => ({ workspaces: [] }),
          version: '1',
          web: join(root, 'dist', 'web'),
        },
        rate: { burst: 10_000, perSecond: 10_000 },
        ...options,
      })
      closers.push(() => running.closeWithin(0), remove)
      return { running, tokens }
    }
    Object.assign(opened, await opened.start())
  })
  afterAll(async () => {
    for (const close of closers) await close()
    await opened.readers.close()
  })
  return opened
}

async function writing(path: string, sql: string): Promise<void> {
  const instance = await DuckDBInstance.create(path, { threads: '1' })
  const connection = await instance.connect()
  await connection.run(sql)
  connection.closeSync()
  instance.closeSync()
}

let created = 0

/** Creates a token with these scopes. */
export async function tokenFor(tokens: AccessTokens, ...scopes: Scope[]): Promise<string> {
  created += 1
  return (await createToken(tokens, { name: `t${created}`, scopes, expiresMs: null }))!
}

export const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })

export interface Answer {
  status: number
  headers: IncomingMessage['headers']
  trailers: IncomingMessage['trailers']
  body: Buffer
  // biome-ignore lint/suspicious/noExplicitAny: tests compare it with what they expect
  json: any
}

/** Sends a request with exactly these headers. */
export async function send(
  { port }: Pick<RunningServe, 'port'>,
  path: string,
  { method = 'GET', headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: unknown } = {},
): Promise<Answer> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const type = body === undefined ? {} : { 'Content-Type': 'application/json' }
    const request = httpRequest(
      { host: '127.0.0.1', port, path, method, headers: { ...type, ...headers }, agent: false },
      resolve,
    )
    request.once('error', reject)
    request.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body))
  })
  const bytes = await buffer(response)
  const isJson = response.headers['content-type']?.startsWith('application/json')
  return {
    status: response.statusCode!,
    headers: response.headers,
    trailers: response.trailers,
    body: bytes,
    json: isJson ? JSON.parse(String(bytes)) : null,
  }
}
