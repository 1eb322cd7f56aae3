import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openLanding } from '../../src/landing/folder-landing.ts'
import { landConversations } from '../warehouse/landed-pages.ts'
import { TOKEN, temporaryFolder } from './cli-process.ts'
import { inProcess } from './in-process.ts'

it('prune counts what has expired, removes it, and says so; without retention nothing expires', async () => {
  const folder = await temporaryFolder()
  const [home, config] = [join(folder, 'data'), join(folder, 'convohouse.yaml')]
  const env = { CONVOHOUSE_API_TOKEN: TOKEN }
  const configure = (retention: string) =>
    writeFile(
      config,
      `home: ${home}\nworkspaces:\n  - id: ws_demo\n    apiUrl: http://127.0.0.1:9\n    token: { env: CONVOHOUSE_API_TOKEN }\n${retention}`,
    )
  const run = (...args: string[]) => inProcess([...args, '--config', config], { env })
  await configure('')
  const landing = openLanding(home).workspace('ws_demo')
  await landConversations(landing, { records: [{ ID: 'a' }] })
  expect(await run('replay')).toMatchObject({ code: 0 })
  expect((await run('prune')).stdout).toContain('convohouse.yaml sets no `retention`')
  await configure('    retention: { pages: 1d }\n')
  const refused = await run('prune')
  expect(refused.code).toBe(2)
  expect(refused.stderr).toContain('31d at least')
  await configure('    retention: { pages: 36500d, events: 7d }\n')
  expect((await run('prune')).stdout).toContain('nothing has expired')
  await landConversations(landing, { records: [{ ID: 'old' }] })
  expect(await readFile(config, 'utf8')).toContain('36500d')
  const { stdout } = await run('prune', '--dry-run', '--json')
  expect(JSON.parse(stdout)).toMatchObject({ kind: 'pruned', workspaceId: 'ws_demo', dryRun: true, pages: 0 })
})
