import { execFile } from 'node:child_process'
import { mkdir, readdir, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { DEMO_QUERIES } from '../../src/cli/demo.ts'
import { exportable, scene, temporaryFolder } from './cli-process.ts'
import { countConversations, inProcess } from './in-process.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..', '..')

describe('the demo', () => {
  it('shows the main use without an account, and exports only new conversations the second time', async () => {
    const home = join(await temporaryFolder(), 'demo')
    const { code, stdout } = await inProcess(['demo', '--home', home])
    expect(code).toBe(0)
    for (const text of [
      'Total: unknown.',
      'up to date',
      'Volume:',
      'Resolution:',
      'Satisfaction:',
      'Cost:',
      '2 days later',
    ])
      expect(stdout).toContain(text)
    const [, exported = '0'] = /Exported: (\d+) new conversations/.exec(stdout) ?? []
    expect(Number(exported)).toBeGreaterThan(50)
    expect(Number(exported)).toBeLessThan(300)
    expect(stdout).toContain(`CONVOHOUSE_HOME=${home}`)
    expect(await countConversations({ CONVOHOUSE_HOME: home })).toBeGreaterThan(1_800)
    const satisfaction = DEMO_QUERIES.find(({ title }) => title.startsWith('Satisfaction'))!
    const answers = await inProcess(
      [
        ...['query', '--format', 'json'],
        `SELECT (SELECT sum(answers) FROM (${satisfaction.sql}))::INT AS shown, (count(*) FILTER (_complete AND NOT coalesce(is_test, false)))::INT AS of_customers,
          count(*)::INT AS found FROM conversations WHERE csat_submitted_at IS NOT NULL`,
      ],
      { env: { CONVOHOUSE_HOME: home } },
    )
    const [{ shown, of_customers: ofCustomers, found }] = JSON.parse(answers.stdout)
    expect(shown).toBe(ofCustomers)
    expect(shown).toBeLessThan(found)
    expect(stdout).toContain('npx convohouse publish')
    expect((await inProcess(['demo', '--home', home])).stderr).toContain('is not empty')
  })
})

describe('the package', () => {
  it('works when it is installed elsewhere', async () => {
    const folder = await temporaryFolder()
    // Without scripts, so that the package contains the existing build instead of replacing it while other tests use it.
    await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: root })
    const [tarball] = await readdir(folder)
    const installed = join(folder, 'node_modules', packageJson.name)
    await mkdir(installed, { recursive: true })
    await run('tar', ['-xzf', join(folder, tarball!), '--strip-components=1', '-C', installed])
    // Links the direct dependencies only, as strict package managers do: unpacking a third of a gigabyte would take long.
    const names = Object.keys(packageJson.dependencies)
    for (const name of names) {
      await mkdir(dirname(join(folder, 'node_modules', name)), { recursive: true })
      await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name))
    }
    const command = join(installed, packageJson.bin.convohouse)
    const { stdout } = await run(command, ['--version'], { cwd: folder })
    expect(stdout.trim()).toBe(packageJson.version)
    const { env, sandbox } = await scene({ conversations: 60 }, { resources: 'all' })
    await run(command, ['sync'], { cwd: folder, env: { ...process.env, ...env } })
    expect(await countConversations(env)).toBe(exportable(sandbox))
  })
})
