// Commands whose data folder does not exist or has no warehouse: the path is mistyped, or nothing has been synced yet.
import { existsSync } from 'node:fs'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { scene, temporaryFolder } from './cli-process.ts'
import { inProcess } from './in-process.ts'

/** Runs the command with a data folder that does not exist; returns its result and the files that it created there. */
async function inEmptyFolder(env: Record<string, string>, command: string) {
  const home = join(await temporaryFolder(), 'dtaa')
  const ended = await inProcess(command.split(' '), { env: { ...env, CONVOHOUSE_HOME: home } })
  return { ...ended, created: existsSync(home) ? await readdir(home, { recursive: true }) : null }
}

it('a mistyped data folder is not created: commands that need a warehouse say that there is none', async () => {
  const { env } = await scene({ agents: 1, conversations: 5 })
  const commands = [
    'replay',
    'replay --allow-incomplete',
    'prune',
    'prune --dry-run',
    'query 1',
    'ledger',
    'quarantine list',
    'quarantine show 1',
    'quarantine retry',
  ]
  for (const command of commands) {
    const { code, stdout, stderr, created } = await inEmptyFolder(env, command)
    expect([command, code, stdout, created]).toEqual([command, 6, '', null])
    expect(stderr).toMatch(/error WAREHOUSE_MISSING: .*dtaa/)
    expect(stderr).toContain('→')
  }
  for (const [command, said] of [
    ['status', 'There is no warehouse in'],
    ['plan', 'Nothing was exported.'],
    ['doctor', 'does not exist yet'],
  ] as const) {
    const { code, stdout, created } = await inEmptyFolder(env, command)
    expect([command, code, created]).toEqual([command, 0, null])
    expect(stdout).toContain(said)
  }
})

it('replay says the same if only another workspace has landed pages', async () => {
  const { env, home } = await scene({ agents: 1, conversations: 5 })
  await mkdir(join(home, 'landing', 'ws_other'), { recursive: true })
  const { code, stderr } = await inProcess(['replay'], { env })
  expect([code, stderr]).toEqual([6, expect.stringContaining('nothing has landed there for ws_demo')])
  expect(await readdir(home)).toEqual(['landing'])
})
