import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { DEMO_QUERIES } from '../../src/cli/demo.ts'
import { isDeep } from '../tier.ts'
import { temporaryFolder } from './cli-process.ts'
import { countConversations, inProcess, rowsOf } from './in-process.ts'
import { CTRL_C, onTerminal } from './on-terminal.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..', '..')

/** Packs the package and installs it in a folder; returns the path of its command. */
async function installed(folder: string): Promise<string> {
  // Scripts are disabled, so that the package contains the existing build and does not replace it while other tests use it.
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: root })
  const [tarball] = await readdir(folder)
  const place = join(folder, 'node_modules', packageJson.name)
  await mkdir(place, { recursive: true })
  await run('tar', ['-xzf', join(folder, tarball!), '--strip-components=1', '-C', place])
  // Links the direct dependencies only, as strict package managers do: unpacking a third of a gigabyte would take long.
  for (const name of Object.keys(packageJson.dependencies)) {
    await mkdir(dirname(join(folder, 'node_modules', name)), { recursive: true })
    await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  }
  const command = join(folder, 'node_modules', '.bin', 'convohouse')
  await mkdir(dirname(command))
  await symlink(join(place, packageJson.bin.convohouse), command)
  return command
}

const HEADINGS = ['Total: unknown.', 'up to date', 'Volume:', 'Resolution:', 'Satisfaction:', 'Cost:', '2 days later']

/** Expects what the demo prints in any case, and that its answers are true. */
async function expectShown(stdout: string, home: string): Promise<void> {
  for (const text of HEADINGS) expect(stdout).toContain(text)
  const [, exported = '0'] = /Exported: (\d+) new conversations/.exec(stdout) ?? []
  expect(Number(exported)).toBeGreaterThan(50)
  expect(Number(exported)).toBeLessThan(300)
  const env = { CONVOHOUSE_HOME: home }
  expect(await countConversations(env)).toBeGreaterThan(1_800)
  const satisfaction = DEMO_QUERIES.find(({ title }) => title.startsWith('Satisfaction'))!
  const [answers] = await rowsOf(
    `SELECT (SELECT sum(answers) FROM (${satisfaction.sql}))::INT AS shown, (count(*) FILTER (_complete AND NOT coalesce(is_test, false)))::INT AS customers,
      count(*)::INT AS found FROM conversations WHERE csat_submitted_at IS NOT NULL`,
    env,
  )
  expect(answers!.shown).toBe(answers!.customers)
  expect(answers!.shown).toBeLessThan(Number(answers!.found))
}

it.runIf(isDeep)('the demo without a terminal prints the commands that come next, and ends', async () => {
  const folder = await temporaryFolder()
  const home = join(folder, 'demo')
  const { stdout } = await run(await installed(folder), ['demo', '--home', home], { cwd: folder })
  await expectShown(stdout, home)
  expect(stdout).toContain(`npx convohouse serve --config ${join(home, 'convohouse.yaml')}`)
  for (const name of ['query', 'status']) expect(stdout).toContain(`CONVOHOUSE_HOME=${home} npx convohouse ${name}`)
  expect(stdout).not.toContain('The dashboard is at')
  expect(stdout).toContain('then `npx convohouse plan` shows')
})

it('the demo of the installed package shows the main use without an account, then serves a dashboard that has figures, until Ctrl-C ends all of it', async () => {
  const folder = await temporaryFolder()
  const command = await installed(folder)
  expect((await run(command, ['--version'], { cwd: folder })).stdout.trim()).toBe(packageJson.version)
  const home = join(folder, 'demo')
  const demo = onTerminal(`demo --home ${home}`, {}, command)
  const shown = await demo.type('', '(Ctrl-C ends it).')
  const [, url] = /The dashboard is at (http:\/\/127\.0\.0\.1:\d+)\/ /.exec(shown)!
  expect((await fetch(`${url}/health`)).status).toBe(200)
  const sql = `SELECT count(*) AS conversations, count(*) FILTER (has_transcript) AS transcripts, (SELECT count(*) FROM conversation_turns WHERE text <> '')::INT AS turns,
      count(*) FILTER (contact_name LIKE '% %') AS named, count(DISTINCT agent_id) AS agents
    FROM marts.fct_conversations WHERE is_counted`
  const body = JSON.stringify({ sql })
  const answer = await fetch(`${url}/v1/query`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json' },
  })
  const [row] = ((await answer.json()) as { rows: Record<string, number>[] }).rows
  expect(row).toMatchObject({ agents: 3 })
  expect(row!.conversations).toBeGreaterThan(1_800)
  for (const key of ['transcripts', 'turns', 'named']) expect(row![key], key).toBeGreaterThan(300)
  const isOurs = async (pid: string) => (await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')).includes(home)
  const ours = async () => {
    const pids = (await readdir('/proc')).filter(name => /^\d+$/.test(name))
    return (await Promise.all(pids.map(isOurs))).filter(Boolean).length
  }
  expect(await ours()).toBeGreaterThan(0)
  await demo.type(CTRL_C, '')
  expect((await demo.ended).code).toBe(0)
  expect(await ours()).toBe(0)
  await expect(fetch(`${url}/health`)).rejects.toThrow()
  await expectShown(shown, home)
  expect((await inProcess(['demo', '--home', home])).stderr).toContain('is not empty')
})
