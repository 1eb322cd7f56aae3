// The settings of `serve`, and the snapshot that it keeps.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { folderOfFile } from '../of-file.ts'

const folder = await folderOfFile()

async function configWith(settings: object) {
  const path = join(folder, 'convohouse.yaml')
  const workspace = { id: 'w', apiUrl: 'https://api.example.com', token: { env: 'TOKEN' } }
  await writeFile(path, JSON.stringify({ home: 'data', workspaces: [workspace], ...settings }))
  return readConfig({ path, env: {} })
}

it('publishes a snapshot of its own only if it is configured and names no other', async () => {
  const target = { name: 'bi', type: 'snapshot' }
  const names = async (settings: object) =>
    (await configWith({ targets: [target], ...settings })).targets.map(({ name }) => name)
  expect([await names({}), await names({ serve: {} }), await names({ serve: { snapshot: 'bi' } })]).toEqual([
    ['bi'],
    ['bi', 'serve'],
    ['bi'],
  ])
  const { serve } = await configWith({ serve: { pii: { content: 'keep' }, hosts: ['Figures.Example.com'] } })
  expect(serve).toMatchObject({
    ...{ isOwn: true, basePath: '', hosts: ['figures.example.com'], address: { host: '127.0.0.1', port: 8_790 } },
    target: { path: join(folder, 'data', 'serve', 'snapshot.duckdb'), pii: { identity: 'hash', content: 'keep' } },
  })
})

it.each([
  [{ serve: { snapshot: 'bi' } }, /serve\.snapshot names no target/],
  [
    { serve: { snapshot: 'p' }, targets: [{ name: 'p', type: 'parquet' }] },
    /serve\.snapshot names no target of type snapshot/,
  ],
  [
    { serve: { snapshot: 'bi', pii: {} }, targets: [{ name: 'bi', type: 'snapshot' }] },
    /serve\.pii.*belongs to the target/,
  ],
  [{ serve: {}, targets: [{ name: 'serve', type: 'snapshot' }] }, /a target has the name serve/],
  [{ serve: { basePath: 'figures/' } }, /serve\.basePath.*must be a path/],
  [{ serve: { hosts: ['https://a.b'] } }, /serve\.hosts\[0\].*must be a name/],
  [{ serve: { address: '8790' } }, /serve\.address.*must be a host and a port/],
])('refuses %j', async (settings, message) => {
  await expect(configWith(settings)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringMatching(message),
  })
})
