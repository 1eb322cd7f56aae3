// Another release of convohouse, installed beside the one that was built here: the same command with other workflows.
import { cp, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import { temporaryFolder } from '../../cli/cli-process.ts'

const ROOT = join(import.meta.dirname, '../../..')

export interface Release {
  /** Its command. */
  main: string
  workflowBundle: { code: string }
}

/** Installs the release whose workflows that file changes. It is gone when the test is over. */
export async function installRelease(changes: string): Promise<Release> {
  const folder = await temporaryFolder()
  await cp(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true })
  await cp(join(ROOT, 'package.json'), join(folder, 'package.json'))
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(ROOT, 'workflows/index.ts'),
    workflowInterceptorModules: [join(import.meta.dirname, changes)],
    logger: new DefaultLogger('ERROR'),
  })
  await writeFile(join(folder, 'dist/workflows/bundle.cjs'), code)
  return { main: join(folder, 'dist/src/cli/convohouse.cjs'), workflowBundle: { code } }
}
