// Starts the Temporal dev server that tests share. If the Temporal CLI is missing, it is downloaded or built while other tests run,
// and the test files that need it, which run last, wait for the result. Without Temporal these files are skipped; in CI they fail.
import { readFileSync } from 'node:fs'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import type { TestProject, Vitest } from 'vitest/node'
import { type DevServer, startDevServer } from '../src/run/temporal/server/dev-server.ts'
import { findTemporal, obtainTemporal } from './temporal-cli.ts'

/** The Temporal CLI and the shared server's address, or the reason why there is none. */
export type TemporalVerdict = { command: string; address: string } | { command: null; reason: string }

declare module 'vitest' {
  interface ProvidedContext {
    /** The verdict, or the file that will contain it; null if no selected test file needs Temporal. */
    temporal: TemporalVerdict | { verdict: string } | null
  }
}

/** True if the test file imports the module that starts Temporal. */
export const needsTemporal = (file: string): boolean => readFileSync(file, 'utf8').includes('/with-temporal.ts')

/** Returns the namespace of a test file in the shared server. */
export const namespaceOf = (file: string): string =>
  relative(import.meta.dirname, file)
    .replace(/\.ts$/, '')
    .replaceAll(/[^a-z0-9]+/g, '-')

function unavailable(error: unknown): TemporalVerdict {
  const reason = (error as Error).message
  console.warn(`Tests with Temporal ${process.env.CI ? 'fail' : 'are skipped'}: ${reason}`)
  return { command: null, reason }
}

export default async function setup(project: TestProject): Promise<undefined | (() => Promise<void>)> {
  // The file names on the command line; vitest provides them, but its types omit them.
  const { filenamePattern, projects } = project.vitest as unknown as Vitest & { filenamePattern?: string[] }
  const found = await Promise.all(projects.map(each => each.globTestFiles(filenamePattern)))
  const files = [...new Set(found.flatMap(({ testFiles }) => testFiles))].filter(needsTemporal)
  if (files.length === 0) return void project.provide('temporal', null)

  let server: DevServer | null = null
  const start = async (command: string): Promise<TemporalVerdict> => {
    server = await startDevServer({ command, namespaces: files.map(namespaceOf) })
    return { command, address: server.address }
  }
  const command = await findTemporal()
  if (command !== null) {
    project.provide('temporal', await start(command).catch(unavailable))
    return async () => server?.stop()
  }
  const folder = await mkdtemp(join(tmpdir(), 'convohouse-temporal-'))
  const verdict = join(folder, 'verdict.json')
  const ending = new AbortController()
  const { signal } = ending
  const written = obtainTemporal(line => console.warn(line), signal)
    .then(start)
    .catch(unavailable)
    .then(async reached => {
      await writeFile(`${verdict}.new`, JSON.stringify(reached))
      await rename(`${verdict}.new`, verdict)
    })
  project.provide('temporal', { verdict })
  return async () => {
    ending.abort(new Error('the tests are over'))
    await written
    await server?.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
