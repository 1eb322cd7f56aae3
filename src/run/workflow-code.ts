// Where a Temporal worker finds the workflows. Files that look for what lies beside the code stand two folders deep, as the bundled
// command does: see build.mjs.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { WorkerOptions } from '@temporalio/worker'

const WORKFLOWS = join(import.meta.dirname, '..', '..', 'workflows')

/** The bundle that the build has made; where we run from the sources, they are bundled now. */
export function workflowCode(): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath'> {
  const codePath = join(WORKFLOWS, 'bundle.cjs')
  return existsSync(codePath) ? { workflowBundle: { codePath } } : { workflowsPath: join(WORKFLOWS, 'index.ts') }
}
