// Locates the workflow bundle. Relative paths work if this file is two folders deep, like the bundled command (build.mjs).
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { bundleWorkflowCode, Runtime, type WorkflowBundleOption } from '@temporalio/worker'

const WORKFLOWS = join(import.meta.dirname, '..', '..', 'workflows')

let bundled: Promise<WorkflowBundleOption> | undefined

/** Returns the built bundle. In a process that runs from sources, bundles the workflows once. */
export async function workflowCode(): Promise<WorkflowBundleOption> {
  const codePath = join(WORKFLOWS, 'bundle.cjs')
  if (existsSync(codePath)) return { codePath }
  bundled ??= bundleWorkflowCode({ workflowsPath: join(WORKFLOWS, 'index.ts'), logger: Runtime.instance().logger })
  return bundled
}
