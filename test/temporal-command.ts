// Before the tests: the Temporal CLI, where it is at hand. Without it the tests that need it are skipped, which is said in one line;
// it is not built here, since that takes a third of the time of all tests.
import type { TestProject } from 'vitest/node'
import { findTemporal } from '../src/run/temporal/command.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The Temporal CLI; null where it could not be had. */
    temporalCommand: string | null
  }
}

const NEEDS_IT = /\/test\/(run\/temporal|contract|deploy)\//

export default async function setup(project: TestProject): Promise<void> {
  // What was asked for on the command line; vitest has it, and does not say so in its types.
  const { filenamePattern } = project.vitest as unknown as { filenamePattern?: string[] }
  const { testFiles } = await project.globTestFiles(filenamePattern)
  const needed = testFiles.some(file => NEEDS_IT.test(file))
  const command = needed ? await findTemporal() : null
  if (needed && command === null)
    console.warn('Tests with Temporal are skipped: run `npm run temporal-cli` once to have its CLI.')
  project.provide('temporalCommand', command)
}
