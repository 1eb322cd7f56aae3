// `convohouse api` against the sandbox.
import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OPERATIONS } from '../../src/client/api/operations.ts'
import type { Resources } from '../sandbox/caller.ts'
import { type Ended, MAIN, openCliScene, scene, TOKEN, temporaryFolder } from './cli-process.ts'
import { inProcess } from './in-process.ts'

let opened: Awaited<ReturnType<typeof openCliScene>>
let ids: Resources

beforeAll(async () => {
  opened = await openCliScene({ conversations: 60 })
  ids = (await (await fetch(`${opened.sandbox.url}/_sandbox/resources`)).json()) as Resources
})
afterAll(() => opened.close())

const api = (args: string, stdin = ''): Promise<Ended> =>
  inProcess(['api', ...args.split(' ')], { env: opened.env, stdin })

/** Returns the words of a command line with `AGENT` and the like replaced by ids. */
function withIds(args: string): string {
  const { agents, metrics, crawlerJobs, organizations } = ids
  const own = metrics.find(({ isSystem }) => !isSystem)!
  const values = { AGENT: agents[0]!, METRIC: `${own.id} --agent ${own.agentId}`, JOB: crawlerJobs[0]!.id }
  const all = { ...values, PAGE: crawlerJobs[0]!.pages[0]!, ORG: organizations[0]! }
  return Object.entries(all).reduce((text, [name, id]) => text.replaceAll(name, id), args)
}

const called = (name: string, flags: string, body: unknown): Promise<Ended> =>
  api(
    [name, withIds(flags), body === undefined ? '' : '--body -'].filter(Boolean).join(' '),
    JSON.stringify(body) ?? '',
  )

async function lastRequest() {
  const { requests } = (await (await fetch(`${opened.sandbox.url}/_sandbox/requests`)).json()) as {
    requests: { method: string; path: string; status: number }[]
  }
  const { method, path, status } = requests.at(-1)!
  return `${method} ${path} ${status}`
}

/** Calls of each operation: flags, body, and a key of the answer. Deletions come last. */
const calls: [string, string, unknown, string][] = [
  ['createTool', '--agent AGENT --yes', { tool: { name: 'n', description: 'd' } }, 'data'],
  ['listTools', '--agent AGENT', undefined, 'data'],
  ['createVariable', '--agent AGENT --yes', { variable: { key: 'plan' } }, 'data'],
  ['listVariables', '--agent AGENT', undefined, 'data'],
  ['getAuditLog', '--agent AGENT --query limit=1', undefined, 'entries'],
  ['updateWorkspace', '-y', { updates: { workspaceName: 'North' } }, 'data'],
  ['getCustomMetric', '--metric METRIC', undefined, 'metric'],
  ['updateCustomMetric', '--metric METRIC --yes', { metric: { description: 'x' } }, 'metric'],
  ['listVoices', '-q language=de -q limit=2 -q providers=elevenlabs,openai', undefined, 'voices'],
  ['getCrawlerPage', '--job JOB --page PAGE', undefined, 'data'],
  ['exportConversations', '--agent AGENT -q limit=1 --yes', undefined, 'data'],
  ['getOrganization', '--org ORG', undefined, 'data'],
  ['listTeams', '--org ORG -q page=1', undefined, 'teams'],
  ['searchAgents', '-q starredOnly=false -q sortBy=alphabetical', undefined, 'agents'],
  ['deleteCrawlerJob', '--job JOB --yes', undefined, 'success'],
  ['deleteOrganization', '--org ORG --yes', undefined, 'deletedClientsCount'],
]

describe('the command', () => {
  it('lists every operation with its section and request', async () => {
    const { code, stdout } = await inProcess(['api'], { env: {} })
    expect(code).toBe(0)
    const lines = stdout.split('\n')
    for (const { name, section, method, path, effect } of OPERATIONS) {
      const line = lines.find(text => text.startsWith(`${name} `))
      for (const part of [` ${section} `, `${method} ${path}`, effect]) expect(line).toContain(part)
    }
    const { stdout: json } = await inProcess(['api', '--json'], { env: {} })
    expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(OPERATIONS)))
  })

  it('has a case below for each operation', () => {
    expect(calls.map(([name]) => name).sort()).toEqual(OPERATIONS.map(({ name }) => name).sort())
  })

  it.each(calls)('calls %s and prints its answer', async (name, flags, body, key) => {
    const { code, stdout, stderr } = await called(name, flags, body)
    expect({ code, stderr: stderr.includes('error') }, stderr).toEqual({ code: 0, stderr: false })
    expect(JSON.parse(stdout)).toHaveProperty(key)
    const { method } = OPERATIONS.find(operation => operation.name === name)!
    expect(await lastRequest()).toMatch(new RegExp(`^${method} /v3/.* 200$`))
  })
})

describe('an operation that writes, deletes or bills', () => {
  const effectOf = (called: string) => OPERATIONS.find(({ name }) => name === called)!.effect
  const refused = calls.filter(([name]) => effectOf(name) !== 'reads')

  it.each(refused)('is refused without --yes if nobody can be asked: %s', async (name, flags, body) => {
    const before = await lastRequest()
    const { code, stdout, stderr } = await called(name, flags.replace(/ ?(--yes|-y)$/, ''), body)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    const what = { reads: '', writes: 'changes data', deletes: 'cannot be undone', bills: 'bills each session' }
    for (const text of ['error CONFIRMATION_NEEDED', what[effectOf(name)], 'add --yes']) expect(stderr).toContain(text)
    expect(await lastRequest()).toBe(before)
  })

  it.each([
    ['n', 'Nothing was sent.', true],
    ['y', '"deletedClientsCount"', false],
  ])('asks on a terminal: %s', async (answer, text, isLeft) => {
    const { env, sandbox } = await scene({ conversations: 10 })
    const list = (await (await fetch(`${sandbox.url}/_sandbox/resources`)).json()) as Resources
    const orgId = list.organizations[0]!
    // Runs the command on a separate terminal, as a person does.
    const line = `'${process.execPath}' '${MAIN}' api deleteOrganization --org '${orgId}'`
    const terminal = spawn('script', ['-qec', line, '/dev/null'], { env: { PATH: process.env.PATH, ...env } })
    let shown = ''
    let isAnswered = false
    terminal.stdout.setEncoding('utf8').on('data', piece => {
      shown += piece
      if (isAnswered || !shown.includes('[y/N]')) return
      isAnswered = true
      terminal.stdin.write(`${answer}\n`)
    })
    await new Promise(resolve => terminal.on('close', resolve))
    expect(shown).toContain(
      `DELETE /v3/orgs/${orgId} deletes data at the vendor, which cannot be undone. Continue? [y/N]`,
    )
    expect(shown).toContain(text)
    const after = (await (await fetch(`${sandbox.url}/_sandbox/resources`)).json()) as Resources
    expect(after.organizations.includes(orgId)).toBe(isLeft)
  })

  it('prints what an export has billed to standard error', async () => {
    const { stdout, stderr } = await api(withIds('exportConversations --agent AGENT -q limit=2 --yes'))
    const { usage } = JSON.parse(stdout)
    expect(stderr).toContain(`Billed: ${usage.billableUsedThisRequest} session`)
    expect(stderr).toContain(`; ${usage.billableUsedThisPeriod} of 50000 used in this period.`)
    const csv = await api(withIds('exportConversations --agent AGENT -q limit=1 -q format=csv --yes'))
    expect(csv.stdout).toMatch(/^[^{\n]*\bID\b/)
  })
})

describe('secrets', () => {
  it('are left out of answers unless they are asked for', async () => {
    const variable = { variable: { key: 'shop', value: 'canary-value', isEnv: true } }
    const agent = `--agent ${ids.agents[1]}`
    await api(`createVariable ${agent} --body - --yes`, JSON.stringify(variable))
    await api(
      `createTool ${agent} --body - --yes`,
      JSON.stringify({ tool: { name: 'n', description: 'd', serverUrlSecret: 'canary-tool' } }),
    )
    for (const [operation, place, canary] of [
      ['listVariables', 'data[].value', 'canary-value'],
      ['listTools', 'data[].serverUrlSecret', 'canary-tool'],
    ] as const) {
      const plain = await api(`${operation} ${agent}`)
      expect(plain.stdout + plain.stderr).not.toContain(canary)
      expect(plain.stderr).toContain(place)
      expect(plain.stderr).toContain('--show-secrets prints them.')
      const shown = await api(`${operation} ${agent} --show-secrets`)
      expect(shown.stdout).toContain(canary)
      expect(shown.stderr).toBe('')
    }
    const org = `getOrganization --org ${ids.organizations.at(-1)}`
    expect((await api(org)).stdout).not.toContain('dashboardPassword')
    const all = await api(`${org} --show-secrets`)
    expect(all.stdout).toContain('dashboardPassword')
    expect(all.stdout).not.toContain(TOKEN)
  })
})

describe('wrong input', () => {
  it.each([
    ['listtools', 'There is no operation "listtools".', 'Did you mean listTools?'],
    ['listtoolz', 'There is no operation "listtoolz".', 'Did you mean listTools?'],
    ['listagents', 'There is no operation "listagents".', 'Did you mean searchAgents?'],
    ['listTools', 'listTools needs --agent.', 'Add --agent'],
    ['listTools --agent a --org o', 'listTools takes no --org.', 'GET /v3/agents/{agentId}/tools'],
    ['listTools --agent ..', 'agentId cannot be ".."', ''],
    ['listVoices --query limt=1', 'listVoices has no parameter "limt".', 'language, gender'],
    ['listVoices --query limit', '--query cannot be "limit".', 'limit=5'],
    ['listVoices --query limit=501', 'limit cannot be 501', 'from 1 to 500'],
    ['listVoices --query limit=1 --query limit=2', '--query has limit twice.', 'commas'],
    ['createTool --agent a --yes', 'createTool needs --body.', '{"tool": {…}}'],
    ['createTool --agent a --body /none/here --yes', '/none/here cannot be read (ENOENT).', ''],
    ['listTools --agent a --workspace other', 'No workspace "other" is configured', ''],
  ])('is refused before a request: %s', async (args, what, hint) => {
    const before = await lastRequest()
    const { code, stdout, stderr } = await api(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(what)
    expect(stderr).toContain(hint)
    expect(await lastRequest()).toBe(before)
  })

  it('in a body is refused without quoting it', async () => {
    const file = join(await temporaryFolder(), 'body.json')
    for (const [text, problem] of [
      ['{"tool": secret-canary', 'is not JSON'],
      ['{"name": "secret-canary"}', 'is not an object with the one key "tool"'],
      ['{"tool": {}, "other": "secret-canary"}', 'is not an object with the one key "tool"'],
      ['[]', 'is not an object with the one key "tool"'],
    ] as const) {
      await writeFile(file, text)
      const { code, stderr } = await api(`createTool --agent a --yes --body ${file}`)
      expect(code).toBe(2)
      expect(stderr).toContain(`The body in ${file} ${problem}.`)
      expect(stderr).not.toContain('canary')
    }
  })

  it('at the vendor is reported with code, hint and exit code', async () => {
    const gone = await api('listTools --agent none --json')
    expect(gone.code).toBe(4)
    const { error } = JSON.parse(gone.stderr)
    expect(error).toMatchObject({
      code: 'API_NOT_FOUND',
      hint: 'Check the ids and the API address.',
      facts: { status: 404 },
    })
    const env = { ...opened.env, CONVOHOUSE_API_TOKEN: 'wrong-token' }
    const { code, stderr } = await inProcess(['api', 'listVoices'], { env })
    expect([code, stderr]).toEqual([3, expect.stringContaining('error API_UNAUTHORIZED')])
  })
})
