import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openApp } from '../../src/app.ts'
import { modelText } from '../../src/cli/status/status-text.ts'
import { readConfig } from '../../src/config.ts'
import type { StoredModel } from '../../src/warehouse/models/stored-models.ts'
import { temporaryFolder } from './cli-process.ts'
import { inProcess } from './in-process.ts'
import { syncedOnce } from './synced-once.ts'

const synced = syncedOnce({ conversations: 20, agents: 2 }, { resources: 'all' })

/** Returns a synced data folder and a folder of custom checks. */
async function scene(files: Record<string, readonly string[]>) {
  const { env, home } = await synced()
  const folder = join(await temporaryFolder(), 'checks')
  await mkdir(folder)
  for (const [name, lines] of Object.entries(files)) await writeFile(join(folder, name), lines.join('\n'))
  return { home, env: { ...env, CONVOHOUSE_CHECKS: folder } }
}

const own = (severity: string, ...sql: string[]) => [
  '-- Conversations are loud.',
  `-- severity: ${severity}`,
  '-- table: conversations',
  '-- key: workspace_id, agent_id, conversation_id',
  ...sql,
]
const ALL = 'FROM conversations'
const KEYLESS = own('warn', `SELECT 'a\nb' AS "one two", NULL AS nothing, 12 AS number FROM range(7)`).toSpliced(3, 1)

const stored = async (env: Record<string, string>) => {
  const sql = 'SELECT name, outcome, violations::INTEGER AS n FROM _checks ORDER BY name'
  return JSON.parse((await inProcess(['query', '--format', 'json', sql], { env })).stdout)
}

describe('convohouse check', () => {
  it('passes on synced data and stores the results', async () => {
    const { env } = await scene({})
    const { code, stdout } = await inProcess(['check'], { env })
    expect(stdout).toMatch(/\nAll \d+ checks passed\.\n$/)
    expect(code).toBe(0)
    expect(await stored(env)).toContainEqual({ name: 'conversations_unique', outcome: 'passed', n: 0 })
    expect((await inProcess(['status'], { env })).stdout).not.toContain('did not pass')
  })

  it('exits with 6 if a check of severity error fails, and prints keys; status and doctor show it', async () => {
    const { env } = await scene({
      'loud.sql': own('error', ALL),
      'broken.sql': own('warn', 'SELECT nothing FROM conversations'),
      'nameless.sql': own('warn', ALL).slice(1),
      'wrong.sql': KEYLESS,
    })
    const { code, stdout } = await inProcess(['check'], { env })
    expect(code).toBe(6)
    expect(stdout).toContain('wrong: Conversations are loud.\n  `convohouse check wrong` shows rows.\n')
    expect(stdout).toMatch(/\nnameless: its header has no description: .*\n\n/)
    expect(stdout).toMatch(/\nloud +failed +error +conversations +\d+ +\d+\n/)
    expect(stdout).toMatch(
      /\nloud: Conversations are loud\.\n {2}\{"workspace_id":"ws_demo","agent_id":"[^"]+","conversation_id":"[^"]+"\}\n/,
    )
    expect(stdout).toContain('\n4 of ')
    const status = await inProcess(['status'], { env })
    expect(status.stdout).toMatch(
      /\n {2}broken: cannot run: Binder Error: .* not found in FROM clause, .*\n {2}loud: \d+ rows \(error\), .*\n {2}nameless: cannot run: its header /,
    )
    expect(JSON.parse((await inProcess(['status', '--json'], { env })).stdout).checks).toMatchObject([
      { name: 'broken', outcome: 'broken' },
      { name: 'loud', outcome: 'failed', table: 'conversations' },
      { name: 'nameless', outcome: 'broken' },
      { name: 'wrong', outcome: 'failed' },
    ])
    const doctor = JSON.parse((await inProcess(['doctor', '--offline', '--json'], { env })).stdout)
    expect(doctor.checks.filter(({ check }: { check: string }) => check === 'rules')).toMatchObject([
      { state: 'warn', found: expect.stringContaining('your check broken cannot run') },
      { state: 'fail', found: expect.stringMatching(/^\d+ rows violate the rule loud\.$/) },
      { state: 'warn', found: expect.stringContaining('your check nameless cannot run') },
      { state: 'warn', found: expect.stringMatching(/^7 rows violate the rule wrong\.$/) },
    ])
  })

  it('exits with 0 if only warnings fail, with 2 if a check cannot run, and runs named checks alone', async () => {
    const { env } = await scene({ 'loud.sql': own('warn', ALL), 'broken.sql': own('warn', 'SELECT nothing') })
    const loud = await inProcess(['check', 'loud', '--json'], { env })
    expect(loud.code).toBe(0)
    const { checks, ...rest } = JSON.parse(loud.stdout)
    expect(rest).toEqual({ ok: true, exitCode: 0, stored: true })
    expect(checks).toMatchObject([
      { name: 'loud', severity: 'warn', outcome: 'failed', about: 'Conversations are loud.' },
    ])
    expect(checks[0].examples).toHaveLength(5)
    expect(checks[0].rows).toHaveLength(5)
    expect(checks[0].rows[0]).toMatchObject({
      workspace_id: 'ws_demo',
      conversation_id: expect.any(String),
    })
    expect((await stored(env)).map(({ name }: { name: string }) => name)).toEqual(['loud'])
    expect((await inProcess(['check', 'broken'], { env })).code).toBe(2)
    expect(await inProcess(['check', 'quiet'], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('There is no check "quiet"'),
    })
  })

  it('shows rows of a failed check that was named, also without a key', async () => {
    const { env } = await scene({ 'wrong.sql': KEYLESS })
    const named = await inProcess(['check', 'wrong'], { env })
    expect(named.stdout).toContain(
      `wrong: Conversations are loud.\n${'  {"one two":"a\\nb","nothing":null,"number":"12"}\n'.repeat(5)}  5 of 7 rows\n`,
    )
  })

  it('shows the beginning of long values, in the order of the check, and its result if the rows cannot be shown', async () => {
    const withoutKey = (sql: string) => own('warn', sql).filter(line => !line.startsWith('-- key'))
    const { env } = await scene({
      'long.sql': withoutKey(`SELECT repeat('ä', 300000) AS long, range AS n FROM range(3) ORDER BY n DESC`),
      'cast.sql': withoutKey(`SELECT conversation_id::INTEGER AS n FROM conversations`),
    })
    const { code, stdout, stderr } = await inProcess(['check', 'cast', 'long'], { env })
    expect(stdout).toContain('\n  Its rows cannot be shown: Conversion Error\n')
    const shown = [2, 1, 0].map(n => `  {"long":"${'ä'.repeat(200)}…","n":"${n}"}\n`).join('')
    expect(stdout).toContain(shown)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  it('asks the process that holds the warehouse, and then stores nothing', async () => {
    const { env } = await scene({})
    const app = await openApp({ config: readConfig({ env }) })
    try {
      const { code, stdout } = await inProcess(['check', 'loads_unique'], { env })
      expect(stdout).toContain(
        'The check passed. The results are not stored, because another process holds the warehouse.',
      )
      expect(code).toBe(0)
    } finally {
      await app.close()
    }
    expect(await stored(env)).toEqual([])
  })

  it('runs the checks that CONVOHOUSE_CHECKS names if no workspace is configured, and stores nothing', async () => {
    const { home, env } = await scene({ 'loud.sql': own('error', ALL) })
    const alone = { CONVOHOUSE_HOME: home, CONVOHOUSE_CHECKS: env.CONVOHOUSE_CHECKS }
    const { code, stdout } = await inProcess(['check', 'loud'], { env: alone })
    expect(stdout).toMatch(/^loud +failed/m)
    expect(stdout).toContain('The results are not stored, because no workspace is configured.')
    expect(code).toBe(6)
    expect(await stored(alone)).toEqual([])
  })
})

it('checks that the pages of the user can be shown, also their SQL', async () => {
  const { env } = await synced()
  const folder = join(await temporaryFolder(), 'pages')
  await mkdir(folder)
  const tile = (name: string, ...lines: string[]) =>
    writeFile(
      join(folder, `${name}.yaml`),
      ['title: Mine', 'about: What?', 'tiles:', '  - title: How many?', ...lines.map(line => `    ${line}`)].join('\n'),
    )
  const SQL = 'sql: SELECT day, channel, count(*) AS n FROM marts.fct_conversations WHERE day >= $from GROUP BY ALL;'
  await tile('good', SQL, 'chart: bars', 'x: day', 'y: [n]', 'by: channel')
  await tile('hours', 'metrics: [handoffs]', 'chart: heat')
  await tile('lacking', SQL, 'chart: bars', 'x: day', 'y: [m]')
  await tile('text', SQL, 'chart: bars', 'x: day', 'y: [channel]')
  await tile('daily', 'metrics: [tagged_conversations]', 'chart: bars', 'grain: hour')
  await tile('writing', 'sql: DROP TABLE conversations')
  await tile('wrong', 'metrics: [nonsense]', 'chart: bars')
  const { code, stdout } = await inProcess(['check', '--json'], { env: { ...env, CONVOHOUSE_PAGES: folder } })
  expect(code).toBe(2)
  const found = JSON.parse(stdout).checks.filter(({ name }: { name: string }) => name.startsWith('page_'))
  expect(found.map(({ name, error }: { name: string; error: string | null }) => [name, error])).toEqual([
    ['page_daily', expect.stringMatching(/local_hour/)],
    ['page_good', null],
    ['page_hours', null],
    ['page_lacking', expect.stringMatching(/"m"/)],
    ['page_text', expect.stringMatching(/sum\(VARCHAR\)/)],
    ['page_writing', expect.stringMatching(/it is not one SELECT/)],
    ['page_wrong', expect.stringMatching(/^tiles\.0: There is no metric "nonsense"/)],
  ])
})

it('a sync warns of models that begin to fail; status and doctor say what is left of them, and those that are built are sources of dbt', async () => {
  const { env: own } = await synced()
  const folder = join(await temporaryFolder(), 'models')
  const env = { ...own, CONVOHOUSE_MODELS: folder }
  await mkdir(folder)
  const write = (sql: string) =>
    writeFile(
      join(folder, 'by_agent.sql'),
      ['-- One row for each agent.', '-- key: agent_id', '-- columns:', '--   agent_id  none  Agent', sql].join('\n'),
    )
  const synchronized = async () => {
    const { stdout, stderr } = await inProcess(['sync'], { env })
    return `${stdout}${stderr}`
  }
  const WARNING = 'the model by_agent could not be built: `convohouse status` shows why'

  await write('SELECT nothing AS agent_id')
  expect(await synchronized()).toContain(WARNING)
  for (const command of [['status'], ['doctor', '--offline']])
    expect((await inProcess(command, { env })).stdout).toMatch(/by_agent\.sql has no table yet: Binder Error: /)

  await write('SELECT DISTINCT agent_id FROM agents')
  await synchronized()
  expect((await inProcess(['status'], { env })).stdout).not.toContain('by_agent.sql')
  const dbt = (await inProcess(['dictionary', '--dbt'], { env })).stdout
  expect(dbt).toContain("schema: \"{{ var('convohouse_models_schema', 'convohouse_models') }}\"")
  expect(dbt).toMatch(/\n {6}- name: by_agent\n {8}description: One row for each agent\.\n/)
  const kept = { columns: [{}], rows: 3 } as unknown as StoredModel
  expect([modelText(kept), modelText({ ...kept, rows: 0 })]).toEqual(['keeps its former rows', 'has no rows'])
})
