import { writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { requestsTo } from '../../scene.ts'
import { isDeep } from '../../tier.ts'
import { type Ended, exportable, jsonLines, openCliScene, scene, start } from '../cli-process.ts'
import { countConversations, inProcess, rowsOf } from '../in-process.ts'
import { copyOf } from '../synced-once.ts'

/** The plan's message if the vendor has reported a billing period without its length. */
const PERIOD_ASSUMED = 'The vendor does not report the length of a billing period; 31 days are assumed.'

describe('sync', () => {
  let made: Awaited<ReturnType<typeof openCliScene>>
  let first: Ended
  beforeAll(async () => {
    made = await openCliScene({ arrivalsPerDay: 50, startMs: Date.now() - 86_400_000 }, { resources: 'all' })
    first = await inProcess(['sync', '--json'], { env: made.env })
  })
  afterAll(() => made.close())
  const synced = () => copyOf(made)

  it('only reads, and prints the plan first and the result last as JSON lines with times; plan then prints one object with estimates, and the length of a billing period that it assumes', async () => {
    const { env, sandbox } = made
    const { code, stdout, stderr } = first
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const answer = await fetch(`${sandbox.url}/_sandbox/requests`)
    const { requests } = (await answer.json()) as { requests: { method: string }[] }
    expect(new Set(requests.map(({ method }) => method))).toEqual(new Set(['GET']))
    const lines = jsonLines(stdout)
    expect(lines[0]).toMatchObject({ kind: 'planning', workspaceId: 'ws_demo', heldUntil: null })
    expect(lines[1]).toMatchObject({ kind: 'planned', workspaceId: 'ws_demo', windows: 3, unknown: 3 })
    expect(lines.at(-1)).toMatchObject({
      kind: 'report',
      outcome: 'done',
      conversations: await countConversations(env),
      exitCode: 0,
    })
    const times = lines.map(({ at }) => at as string)
    expect(times.filter(at => !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(at))).toEqual([])
    expect(times).toEqual([...times].sort())

    sandbox.clock.advance(86_400_000)
    const planned = JSON.parse((await inProcess(['plan', '--json'], { env })).stdout)
    expect(planned).toMatchObject({ workspaceId: 'ws_demo', exported: false, layout: { periods: { low: 1, high: 1 } } })
    const kinds = planned.plan.windows.map(
      ({ progress }: { progress: { window: { kind: string } } }) => progress.window.kind,
    )
    expect(kinds).toEqual(['head', 'head', 'head', 'sample', 'sample', 'sample'])
    expect(planned.plan.unknown).toBe(0)
    expect(planned.budget.quota).toMatchObject({ known: true, includedSessions: 50_000 })
    expect((await inProcess(['plan'], { env })).stdout).toContain(PERIOD_ASSUMED)
  })

  it('needs four variables and no file, prints the price of history, and exports the whole workspace, after a plan that exports nothing and leaves no run in status; in watch mode it says when the next round is, and exits with 130', async () => {
    const { env: all, sandbox } = await scene()
    const { CONVOHOUSE_CONFIG: _, ...env } = all
    const planned = await inProcess(['plan'], { env })
    expect(planned.code).toBe(0)
    for (const text of [sandbox.world.agentIds()[0]!, 'the beginning', 'Total: unknown.', 'Nothing was exported.'])
      expect(planned.stdout).toContain(text)
    expect(planned.stdout).toContain('Left: 1,500 of 1,500 requests this hour')
    expect(planned.stdout).not.toContain(PERIOD_ASSUMED)
    expect(await requestsTo(sandbox).served()).toEqual([])
    const status = JSON.parse((await inProcess(['status', '--json'], { env })).stdout)
    expect(status.workspaces[0].lastRun).toBeNull()

    const watching = start(['sync', '--watch', '10m'], { env })
    await watching.said('next round at')
    watching.process.kill('SIGTERM')
    const { code, stdout, stderr } = await watching.ended
    expect(code).toBe(130)
    expect(stderr).toMatch(
      /^\S+Z ws_demo: planning: listing the agents, checking what has landed\n\S+Z ws_demo: reading history\. Total: unknown\..* At most 50,000 sessions are billed this period\.\n\S+Z ws_demo: reading 3 windows of/,
    )
    expect(stdout.match(/ws_demo: up to date/g)).toHaveLength(1)
    expect(stdout).toMatch(/sessions left this period/)
    expect(await countConversations(env)).toBe(exportable(sandbox))
  })

  it('refuses an agent that the workspace does not have', async () => {
    const { env, sandbox } = await synced()
    const { code, stderr } = await inProcess(['sync', '--agent', 'nobody'], { env })
    expect(code).toBe(2)
    expect(stderr).toContain('error AGENT_UNKNOWN: The workspace has no agent "nobody".')
    expect(stderr).toContain(sandbox.world.agentIds()[0])
    const { workspaces } = JSON.parse((await inProcess(['status', '--json'], { env })).stdout)
    expect(workspaces[0]).toMatchObject({ lastRun: { success: true }, lastFailure: null })
  })

  it('exports the conversations of a list again, whether or not it names their agents, and names the lines of missing ones', async () => {
    const { env, home } = await synced()
    const sql = 'SELECT agent_id AS a, conversation_id AS id FROM conversations ORDER BY id LIMIT 2'
    const [one, two] = await rowsOf(sql, env)
    const file = `${home}.csv`
    const lines = [
      '\uFEFFConversation ID,Agent ID',
      `"${one!.id}",${one!.a}`,
      '',
      `${two!.id},`,
      `nobody,${one!.a}`,
      '',
    ]
    await writeFile(file, lines.join('\r\n'))
    const { code, stdout } = await inProcess(['sync', '--ids', file], { env })
    expect([code, stdout]).toEqual([0, expect.stringContaining('2 conversations in')])
    expect(stdout).toContain('warning: 1 of 3 requested conversations did not arrive: "nobody" (line 5).')

    await writeFile(file, `agent_id,conversation_id\n${one!.a},${one!.id}\nagent_typo,${one!.id}\n`)
    for (const command of ['sync', 'plan']) {
      const unknown = await inProcess([command, '--ids', file], { env })
      expect(unknown.code).toBe(2)
      expect(unknown.stderr).toContain('AGENT_UNKNOWN: The workspace has no agent "agent_typo".')
    }
    await writeFile(file, `${one!.a},${one!.id}\n${one!.a},\n`)
    const empty = await inProcess(['sync', '--ids', file], { env })
    expect([empty.code, empty.stderr]).toEqual([2, expect.stringContaining('.csv, line 2 names no conversation.')])
  })

  it('names up to five unknown ids', async () => {
    const { env, home } = await synced()
    const file = `${home}.ids`
    await writeFile(file, 'x1\nx2\nx3\nx4\nx5\nx6\nx7\n')
    const { code, stderr } = await inProcess(['sync', '--ids', file], { env })
    expect(code).toBe(2)
    expect(stderr).toContain(
      '7 of 7 ids are not in the warehouse: "x1" (line 1), "x2" (line 2), "x3" (line 3), "x4" (line 4), "x5" (line 5) and 2 more.',
    )
    await writeFile(file, 'x1\n')
    const one = await inProcess(['sync', '--ids', file], { env })
    expect(one.stderr).toContain('1 of 1 id is not in the warehouse')
    await writeFile(file, Buffer.from('PK\x03\x04\x14\0\x08'))
    const workbook = await inProcess(['sync', '--ids', file], { env })
    expect([workbook.code, workbook.stderr]).toEqual([
      2,
      expect.stringMatching(/is not a text file in UTF-8\.\n.*as "CSV UTF-8"/),
    ])
    const missing = await inProcess(['sync', '--ids', `${file}.not`], { env })
    expect(missing.stderr).toContain('the file does not exist')
  })

  it('asks for confirmation before a first backfill that is known to use most of the quota', async () => {
    const { env, sandbox } = await scene({ conversations: 400, historyDays: 2_000, quotaSessions: 300 })
    const agent = sandbox.world.agentIds()[0]!
    const ids = [...sandbox.world.conversations(agent, sandbox.clock.now())].slice(-60).map(({ id }) => id)
    const exported = await inProcess(['sync', '--ids', '-', '--agent', agent], { env, stdin: ids.join('\n') })
    expect(exported.code).toBe(0)
    const refused = await inProcess(['sync', '--agent', agent, '--since', '2000d'], { env })
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('error CONFIRMATION_NEEDED')
    if (!isDeep) return
    const limited = await inProcess(['sync', '--agent', agent, '--since', '2000d', '--max-sessions', '20'], { env })
    expect(limited.code).toBe(0)
  })
})
