import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkTogether } from '../../src/cli/flags/sync-flags.ts'
import { createProgram } from '../../src/cli/program.ts'
import { usageError } from '../../src/cli/terminal/error-text.ts'
import { freePort } from '../ports.ts'
import { cli, temporaryFolder } from './cli-process.ts'
import { inProcess } from './in-process.ts'

/** Returns the usage error that these arguments cause, or `none`; no command runs. */
async function violation(line: string): Promise<string> {
  const args = line.split(' ')
  const program = await createProgram()
  for (const command of program.commands) command.action(flags => checkTogether(flags, Date.now()))
  try {
    await program.parseAsync(args, { from: 'user' })
    return 'none'
  } catch (error) {
    const failure =
      (error as Error).constructor.name === 'CommanderError'
        ? usageError(error as never, `convohouse ${args[0]}`)
        : error
    const { code, message, hint } = failure as { code: string; message: string; hint: string }
    return `${code}: ${message} → ${hint}`
  }
}

describe('the command line', () => {
  it.each([
    ['sync --ful', "FLAG_INVALID: convohouse sync: unknown option '--ful'. → Did you mean --full?"],
    ['sync --since yesterday', 'FLAG_INVALID: --since cannot be "yesterday". → Give a date such as 2026-01-31'],
    ['sync --max-requests 0', 'FLAG_INVALID: --max-requests cannot be "0". → Give a whole number of 1 or more.'],
    ['sync --resources tools,clients', 'FLAG_INVALID: --resources cannot be "tools,clients".'],
    ['sync --watch 5s', 'FLAG_INVALID: --watch cannot be "5s". → Give at least 10s.'],
    ['sync --refresh ids.csv', 'FLAG_INVALID: --refresh cannot be "ids.csv". → Give a duration such as 90s'],
    ['plan --watch 15m', "FLAG_INVALID: convohouse plan: unknown option '--watch'"],
    ['sync --workspace', "FLAG_INVALID: convohouse sync: option '-w, --workspace <id>' argument missing."],
    ['sync now', "FLAG_INVALID: convohouse sync: too many arguments for 'sync'. Expected 0 arguments but got 1."],
    ['query --format xml', 'FLAG_INVALID: --format cannot be "xml". → Give one of table, csv, json'],
    ['query --timeout 25d', 'FLAG_INVALID: --timeout cannot be "25d". → Give at most 24d.'],
    ['sandbox --port 70000', 'FLAG_INVALID: --port cannot be "70000". → Give a whole number from 0 to 65535.'],
  ])('rejects %s with the cause and a hint', async (line, message) => {
    expect(await violation(line)).toContain(message)
  })

  it.each([
    ['sync --full --ids x', '--full and --ids contradict each other.'],
    ['sync --ids x --since 1d', '--ids and --since contradict each other.'],
    ['sync --ids x --refresh 7d', '--ids and --refresh contradict each other.'],
    ['sync --full --refresh 7d', '--full and --refresh contradict each other.'],
    ['sync --watch 15m --ids x', '--watch and --ids contradict each other.'],
    ['sync --watch 15m --drop-full', '--watch and --drop-full contradict each other.'],
    ['sync --on temporal --watch 15m', '--on and --watch contradict each other.'],
    ['sync --watch 15m --full', '--watch and --full contradict each other.'],
    ['sync --watch 15m --until 1d', '--watch and --until contradict each other.'],
    ['sync --since 1d --until 2d', '--since is not before --until.'],
    ['plan --since 2199-01-01', '--since lies in the future.'],
    ['sync --until 20000d', '--until lies before 2001-09-09: the API would interpret its milliseconds as seconds'],
    ['sync --since 1970-01-01 --until 2001-09-09T01:46:40Z', '--until lies before 2001-09-09'],
  ])('rejects values that contradict each other or are out of range: %s', async (line, message) => {
    expect(await violation(line)).toContain(`FLAG_INVALID: ${message}`)
  })

  it.each([
    'sync --since 90d --until 30d',
    'sync --since 40000d',
    'sync --watch 15m --max-sessions 10',
    'plan --full --agent a --agent b',
  ])('accepts %s', async line => {
    expect(await violation(line)).toBe('none')
  })
})

describe('an error', () => {
  it('is two lines on standard error, with its own exit code', async () => {
    const { code, stdout, stderr } = await cli(['sync', '--watch', '1s'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toBe('error FLAG_INVALID: --watch cannot be "1s".\n  → Give at least 10s.\n')
  })

  it('is one JSON object with --json', async () => {
    const { code, stderr } = await inProcess(['sync', '--json', '--max-requests', 'x'])
    expect(code).toBe(2)
    expect(JSON.parse(stderr)).toEqual({
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      error: {
        code: 'FLAG_INVALID',
        what: '--max-requests cannot be "x".',
        hint: 'Give a whole number of 1 or more.',
        exitCode: 2,
        facts: {},
      },
    })
  })

  it('never repeats the value of an unknown flag, which may be a misplaced secret', async () => {
    const { stderr } = await inProcess(['sync', '--token=canary-token-4711'])
    expect(stderr).toContain("unknown option '--token'")
    expect(stderr).not.toContain('canary')
  })

  it('suggests the command that was probably meant', async () => {
    const { code, stderr } = await inProcess(['snyc'])
    expect(code).toBe(2)
    expect(stderr).toContain("unknown command 'snyc'.\n  → Did you mean sync?")
    const helped = await inProcess(['nonsense', '--help'])
    expect([helped.code, helped.stdout]).toEqual([2, ''])
    expect(helped.stderr).toContain("unknown command 'nonsense'.\n  → `convohouse --help` lists the commands.")
    expect((await inProcess(['schedule', 'nonsense', '--help'])).code).toBe(2)
    const subcommand = await inProcess(['schedule', 'esure'])
    expect(subcommand.stderr).toContain("convohouse schedule: unknown command 'esure'.\n  → Did you mean ensure?")
    const table = await inProcess(['dictionary', 'fct_conversation'])
    expect(table.stderr).toContain('→ Did you mean marts.fct_conversations? It has: ')
  })

  it('says at once that no Temporal server listens', async () => {
    const beganMs = performance.now()
    const vendor = { CONVOHOUSE_WORKSPACE: 'w', CONVOHOUSE_API_URL: 'http://127.0.0.1:1', CONVOHOUSE_API_TOKEN: 't' }
    const env = { ...vendor, TEMPORAL_ADDRESS: `localhost:${await freePort()}` }
    const { stderr } = await inProcess(['schedule', 'list'], { env })
    expect(stderr).toContain('nothing listens there (the connection was refused).')
    expect(performance.now() - beganMs).toBeLessThan(8_000)
  })

  it('says how to begin if nothing is configured', async () => {
    const { code, stderr } = await inProcess(['sync'], { cwd: await temporaryFolder() })
    expect(code).toBe(2)
    expect(stderr).toContain('error CONFIG_MISSING')
    expect(stderr).toContain('convohouse init')
  })

  it('names the setting and the line of a bad configuration', async () => {
    const folder = await temporaryFolder()
    await writeFile(
      join(folder, 'convohouse.yaml'),
      'workspaces:\n  - id: a\n    apiUrl: nowhere\n    token: { env: T }\n',
    )
    const { code, stderr } = await inProcess(['plan'], { cwd: folder })
    expect(code).toBe(2)
    expect(stderr).toContain('workspaces[0].apiUrl (line 3)')
  })
})
