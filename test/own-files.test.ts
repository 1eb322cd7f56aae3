import { chmod, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'

async function modesIn(home: string): Promise<Record<string, string>> {
  const entries = (await readdir(home, { withFileTypes: true })).filter(entry => !entry.isDirectory())
  const modes = entries.map(
    async ({ name }) => [name, ((await stat(join(home, name))).mode & 0o777).toString(8)] as const,
  )
  return Object.fromEntries(await Promise.all(modes))
}

async function folderOpenToOthers(): Promise<string> {
  const mask = process.umask(0o022)
  const home = await mkdtemp(join(tmpdir(), 'convohouse-'))
  await chmod(home, 0o755)
  onTestFinished(async () => {
    process.umask(mask)
    await rm(home, { recursive: true })
  })
  return home
}

it.skipIf(process.platform === 'win32')(
  'a warehouse can be read only by its owner, also in a folder that others can open',
  async () => {
    const home = await folderOpenToOthers()
    const env = {
      CONVOHOUSE_API_URL: 'http://127.0.0.1',
      CONVOHOUSE_API_TOKEN: 'none',
      CONVOHOUSE_WORKSPACE: 'ws',
      CONVOHOUSE_HOME: home,
    }
    const app = await openApp({ config: readConfig({ env }) })
    // A commit creates the WAL, a checkpoint removes it, and the next commit creates it again.
    for (const statement of ['CREATE TABLE a(n INTEGER)', 'CHECKPOINT warehouse', 'CREATE TABLE b(n INTEGER)'])
      await app.warehouse.writer.run(statement)
    const [file, log] = ['warehouse.duckdb', 'warehouse.duckdb.wal']
    expect(await modesIn(home)).toEqual({ [file]: '600', [log]: '600', 'query.sock': '600' })
    await app.close()
    expect(await modesIn(home)).toEqual({ [file]: '600' })
  },
)
