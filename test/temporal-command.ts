// Before the tests: the Temporal CLI. Where it is not at hand it is downloaded or built while the other tests run, and the files that
// need it, which are begun last, wait for the verdict. Where it cannot be had they are skipped, and in CI they fail.
import { readFileSync } from 'node:fs'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject, Vitest } from 'vitest/node'
import { findTemporal } from '../src/run/temporal/server/temporal-cli.ts'
import { obtainTemporal } from './temporal-cli.ts'

/** The Temporal CLI, or why it could not be had. */
export type TemporalVerdict = { command: string } | { command: null; reason: string }

declare module 'vitest' {
  interface ProvidedContext {
    /** The Temporal CLI, or the file that will tell as a `TemporalVerdict`; null where nothing was asked for that needs it. */
    temporal: { command: string } | { verdict: string } | null
  }
}

/** Files of tests with Temporal import what begins one. */
export const needsTemporal = (file: string): boolean => readFileSync(file, 'utf8').includes('/with-temporal.ts')

async function obtain(signal: AbortSignal): Promise<TemporalVerdict> {
  try {
    return { command: await obtainTemporal({ log: line => console.warn(line), signal }) }
  } catch (error) {
    const reason = (error as Error).message
    if (!signal.aborted) console.warn(`Tests with Temporal ${process.env.CI ? 'fail' : 'are skipped'}: ${reason}`)
    return { command: null, reason }
  }
}

export default async function setup(project: TestProject): Promise<undefined | (() => Promise<void>)> {
  // What was asked for on the command line; vitest has it, and does not say so in its types.
  const { filenamePattern, projects } = project.vitest as unknown as Vitest & { filenamePattern?: string[] }
  const found = await Promise.all(projects.map(each => each.globTestFiles(filenamePattern)))
  if (!found.flatMap(({ testFiles }) => testFiles).some(needsTemporal)) return void project.provide('temporal', null)
  const command = await findTemporal()
  if (command !== null) return void project.provide('temporal', { command })
  const folder = await mkdtemp(join(tmpdir(), 'convohouse-temporal-'))
  const verdict = join(folder, 'verdict.json')
  const ending = new AbortController()
  const told = obtain(ending.signal).then(async found => {
    await writeFile(`${verdict}.new`, JSON.stringify(found))
    await rename(`${verdict}.new`, verdict)
  })
  project.provide('temporal', { verdict })
  return async () => {
    ending.abort(new Error('the tests are over'))
    await told
    await rm(folder, { recursive: true, force: true })
  }
}
