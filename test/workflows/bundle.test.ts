// Bundles the workflows as workers do. Temporal's workflow sandbox has no Node: an import of a Node built-in, however deep, fails in
// this test instead of at the start of a worker.
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import { describe, expect, it, onTestFinished } from 'vitest'
import { isDeep } from '../tier.ts'

/** Builds the bundle; an error contains the bundler's log. */
async function bundled(workflowsPath: string) {
  const said: string[] = []
  const logger = new DefaultLogger('ERROR', ({ message }) => said.push(message))
  return bundleWorkflowCode({ workflowsPath, logger }).catch((error: Error) => {
    throw new Error([error.message, ...said].join('\n'))
  })
}

async function workflowOf(source: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'convohouse-bundle-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await symlink(join(import.meta.dirname, '../../node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'below.ts'), source)
  await writeFile(join(folder, 'index.ts'), "export { workflow } from './below.ts'\n")
  return join(folder, 'index.ts')
}

describe('the bundle of the workflows', () => {
  it.each(isDeep ? ['node:fs', 'crypto', 'node:timers/promises'] : ['node:timers/promises'])(
    'cannot be built if a module that it imports uses %s',
    async name => {
      const path = await workflowOf(
        `import * as builtin from '${name}'\nexport const workflow = async () => Object.keys(builtin)\n`,
      )
      await expect(bundled(path)).rejects.toThrow(
        new RegExp(`(disallowed modules|Reading from)[^]*${name.replace('node:', '')}`),
      )
    },
  )

  it('is built from modules that use no Node built-in', async () => {
    const path = await workflowOf("export const workflow = async () => 'pure'\n")
    expect((await bundled(path)).code).toContain('pure')
  })

  it('is shipped with the command and contains syncWorkspace, so that a worker starts without bundling', async () => {
    const built = join(import.meta.dirname, '../../dist/workflows/bundle.cjs')
    expect(await readFile(built, 'utf8')).toContain('async function syncWorkspace(')
  })
})
