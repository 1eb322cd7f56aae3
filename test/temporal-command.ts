// Before the tests: the Temporal CLI, got or built where tests that need it will run. Without it, those are skipped, which is said
// in one line; in CI they fail.
import type { TestProject } from 'vitest/node'
import { provideTemporal } from '../src/run/temporal/command.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The Temporal CLI; null where it could not be had. */
    temporalCommand: string | null
  }
}

const NEEDS_IT = /\/test\/(run\/temporal|contract)\//

export default async function setup(project: TestProject): Promise<void> {
  // What was asked for on the command line; vitest has it, and does not say so in its types.
  const { filenamePattern } = project.vitest as unknown as { filenamePattern?: string[] }
  const { testFiles } = await project.globTestFiles(filenamePattern)
  const needed = testFiles.some(file => NEEDS_IT.test(file))
  const command = needed ? await provideTemporal({ tell: console.warn }).catch(tellMissing) : null
  project.provide('temporalCommand', command)
}

function tellMissing(error: Error): null {
  console.warn(`Tests with Temporal ${process.env.CI ? 'fail' : 'are skipped'}: ${error.message}`)
  return null
}
