// `convohouse/api` from the package, in a project that has only its imports installed: neither DuckDB nor Temporal.
import { execFile } from 'node:child_process'
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../cli/cli-process.ts'
import { root } from '../../import-graph.ts'
import { isDeep } from '../../tier.ts'
import { openApi } from './api-scene.ts'

const run = promisify(execFile)

const PROGRAM = `
import { type ApiClient, allAuditEntries, ConvohouseError, createApiClient, VendorError } from 'convohouse/api'

const api: ApiClient = createApiClient({ apiUrl: process.argv[2]!, token: 'test-token' })
const { agents = [] } = await api.searchAgents({ limit: 1 })
const agentId: string = agents[0]!.ID
const { data } = await api.createVariable({ agentId, variable: { key: 'plan', value: 1 } })
for await (const { field } of allAuditEntries(api, { agentId })) {
  console.log(data.key, field !== '')
  break
}
try {
  // @ts-expect-error: orgId is missing
  await api.getOrganization({})
} catch (error) {
  console.log(error instanceof ConvohouseError && error.code, error instanceof VendorError)
}
await api.close()
`

it.runIf(isDeep)('is imported with its types', async () => {
  const folder = await temporaryFolder()
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: root })
  const [tarball] = await readdir(folder)
  const modules = join(folder, 'node_modules')
  await mkdir(join(modules, 'convohouse'), { recursive: true })
  await mkdir(join(modules, '@types'))
  await run('tar', ['-xzf', join(folder, tarball!), '--strip-components=1', '-C', join(modules, 'convohouse')])
  for (const name of ['undici', 'zod', 'undici-types', '@types/node'])
    await symlink(join(root, 'node_modules', name), join(modules, name))
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  await writeFile(join(folder, 'use.ts'), PROGRAM)
  const flags = ['--strict', '--module', 'nodenext', '--target', 'es2023', '--types', 'node', 'use.ts']
  await run(join(root, 'node_modules', '.bin', 'tsc'), flags, { cwd: folder })
  const { sandbox } = await openApi()
  const { stdout } = await run(process.execPath, ['use.js', sandbox.url], { cwd: folder })
  expect(stdout).toBe('plan true\nFLAG_INVALID false\n')
})
