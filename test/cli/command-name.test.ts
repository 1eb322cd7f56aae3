// Messages name commands as the user's shell finds them.
import { mkdir, symlink } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { MAIN, temporaryFolder } from './cli-process.ts'
import { inProcess } from './in-process.ts'

let folder: string
const usageIn = async (cwd: string, ...path: string[]): Promise<string> => {
  const env = { PATH: [...path, '/usr/bin'].join(delimiter) }
  const { stdout } = await inProcess(['prune', '--help'], { cwd, env })
  const [usage, example] = [/^Usage: (.*) prune/.exec(stdout)![1]!, /\$ (.*) prune --dry-run/.exec(stdout)![1]!]
  expect(example).toBe(usage)
  return usage
}

/** Installs the command in a folder, as npm does. */
const install = async (...to: string[]): Promise<string> => {
  const bin = join(folder, ...to)
  await mkdir(bin, { recursive: true })
  await symlink(MAIN, join(bin, 'convohouse'))
  return bin
}

beforeEach(async () => {
  folder = await temporaryFolder()
})

it('by its name if that is on the PATH, but not if only npm has put it there', async () => {
  expect(await usageIn(folder, await install('bin'))).toBe('convohouse')
  const elsewhere = await temporaryFolder()
  expect(await usageIn(elsewhere, await install('node_modules', '.bin'))).toBe(`node ${MAIN}`)
})

it('with npx inside a project that has it installed, else by the path of the program', async () => {
  expect(await usageIn(folder)).toBe(`node ${MAIN}`)
  await install('node_modules', '.bin')
  await mkdir(join(folder, 'reports'))
  expect(await usageIn(join(folder, 'reports'))).toBe('npx convohouse')
})

it('in hints of errors, as text and as JSON', async () => {
  await install('node_modules', '.bin')
  const options = { cwd: folder, env: { PATH: '/usr/bin' } }
  expect((await inProcess(['plan'], options)).stderr).toContain('→ Run `npx convohouse init` to write')
  const unknown = await inProcess(['nonsense'], options)
  expect(unknown.stderr).toContain('→ `npx convohouse --help` lists the commands.')
  const { error } = JSON.parse((await inProcess(['plan', '--json'], options)).stderr)
  expect(error.hint).toContain('try `npx convohouse demo`')
})
