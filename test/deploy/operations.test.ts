// The files and commands that docs/operations.md names exist, and Temporal's profile file works as described there.
import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { cli, temporaryFolder } from '../cli/cli-process.ts'
import { inProcess } from '../cli/in-process.ts'
import { describeWithTemporal } from '../run/temporal/with-temporal.ts'
import { ROOT } from './dockerfile.ts'

const page = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')
const found = (pattern: RegExp, text = page): string[] => [
  ...new Set([...text.matchAll(pattern)].map(match => match[1]!)),
]

describe('docs/operations.md', () => {
  it('links to files that exist', () => {
    const links = found(/\]\(([^)#:]+)\)/g)
    expect(links.length).toBeGreaterThan(4)
    expect(links.filter(link => !existsSync(join(ROOT, 'docs', link)))).toEqual([])
  })

  it('names commands that exist', async () => {
    const known = (await createProgram([])).commands.map(command => command.name())
    const named = found(/(?:npx |warehouse |`)convohouse ([a-z]+)/g)
    expect(named.length).toBeGreaterThan(6)
    expect(named.filter(name => !known.includes(name))).toEqual([])
  })
})

describeWithTemporal('a profile in a file', ({ place }) => {
  it('gives the address of Temporal', async () => {
    const folder = await temporaryFolder()
    const file = join(folder, 'temporal.toml')
    await writeFile(file, `[profile.example]\naddress = "${place.address}"\nnamespace = "${place.namespace}"\n`)
    const workspace = { id: 'ws_1', apiUrl: 'http://127.0.0.1:9', token: { env: 'NONE' }, schedule: { every: '1h' } }
    await writeFile(join(folder, 'convohouse.yaml'), JSON.stringify({ workspaces: [workspace] }))
    const env = { TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: 'example' }
    const schedule = (action: string, more = {}) =>
      inProcess(['schedule', action, '--json'], { cwd: folder, env: { ...env, ...more } })
    expect(await schedule('ensure')).toMatchObject({ code: 0, stdout: expect.stringContaining('created') })
    expect((await schedule('list')).stdout).toContain('"next"')
    // An environment variable takes precedence over Temporal's profile file.
    const other = await schedule('list', { TEMPORAL_NAMESPACE: 'default' })
    expect(JSON.parse(other.stdout)).toMatchObject({ schedule: null })
    // The error says that the namespace does not exist.
    const nowhere = { TEMPORAL_NAMESPACE: 'nowhere' }
    const failures = [
      await schedule('list', nowhere),
      await cli(['worker'], { cwd: folder, env: { ...env, ...nowhere } }),
    ]
    for (const { code, stderr } of failures)
      expect([code, stderr]).toEqual([
        5,
        expect.stringMatching(/TEMPORAL_UNREACHABLE.*namespace nowhere: .*not found\.[^.]/s),
      ])
  })
})
