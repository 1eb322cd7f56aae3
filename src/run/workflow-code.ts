// Where a Temporal worker finds the workflows. Files that look for what lies beside the code stand two folders deep, as the bundled
// command does: see build.mjs.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { bundleWorkflowCode, Runtime, type WorkflowBundleOption } from '@temporalio/worker'

const WORKFLOWS = join(import.meta.dirname, '..', '..', 'workflows')

let bundled: Promise<WorkflowBundleOption> | undefined

/** The bundle that the build has made; where we run from the sources, they are bundled, once a process. */
export async function workflowCode(): Promise<WorkflowBundleOption> {
  const codePath = join(WORKFLOWS, 'bundle.cjs')
  if (existsSync(codePath)) return { codePath }
  bundled ??= bundleWorkflowCode({ workflowsPath: join(WORKFLOWS, 'index.ts'), logger: Runtime.instance().logger })
  return bundled
}
