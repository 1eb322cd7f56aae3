import { describe, expect, it } from 'vitest'
import type { Ledger } from '../../src/cli/ledger/ledger.ts'
import { grid } from '../../src/cli/terminal/columns.ts'
import type { Plan } from '../../src/core/planning/planner.ts'
import { DAY } from '../../src/core/time.ts'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { jsonLines } from './cli-process.ts'
import { inProcess } from './in-process.ts'
import { syncedOnce } from './synced-once.ts'

async function ledger(env: Record<string, string>, ...args: string[]): Promise<Ledger> {
  const { code, stdout, stderr } = await inProcess(['ledger', '--json', ...args], { env })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout).workspaces[0]
}

const truthOf = ({ world, clock }: Sandbox) =>
  Object.fromEntries(
    world.agentIds().map(id => {
      const { visible, exportable } = world.tally(id, clock.now())
      return [id, { scanned: visible, returned: exportable, skipped: visible - exportable, held: exportable }]
    }),
  )

/** Changes the warehouse directly, while no process holds it. */
async function inWarehouse(home: string, sql: string): Promise<void> {
  const { writer, close } = await openWarehouse({ home, memoryLimit: '1GB', threads: 1 })
  await writer.run(sql).finally(close)
}

// The clock stops some time after the last conversation, so all conversations have settled.
const synced = syncedOnce({ conversations: 300, startMs: Date.now() - 10 * 60_000, speed: 0 }, {}, ({ clock }) =>
  clock.advance(10 * 60_000),
)

it('ids are never cut, however narrow the terminal', () => {
  const rows = [['agent_0123456789abcdef01', 'A title that is much longer than the terminal is wide', '7']]
  const columns = [{ name: 'agent', isWhole: true }, { name: 'title' }, { name: 'n', right: true }]
  expect(grid(columns, rows, { width: 44 })[1]).toBe('agent_0123456789abcdef01  A title that i…  7')
})

describe('convohouse ledger', () => {
  it('counts by agent what the generator made, and names every difference with a hint', async () => {
    const { env, sandbox } = await synced()
    const { rows, totals, differences, readThrough } = await ledger(env)
    const truth = truthOf(sandbox)
    expect(
      Object.fromEntries(
        rows.map(({ key, scanned, returned, skipped, held }) => [key, { scanned, returned, skipped, held }]),
      ),
    ).toEqual(truth)
    expect(rows.map(({ scanned }) => scanned)).toEqual(rows.map(({ scanned }) => scanned).sort((a, b) => b - a))
    expect(totals.scanned).toBe(300)
    expect(totals.skipped).toBeGreaterThan(0)
    expect(differences.map(({ kind, count }) => [kind, count])).toEqual([['skipped', totals.skipped]])
    expect(differences[0]).toMatchObject({ sessions: 0, hint: expect.stringMatching(/^Nothing is read again/) })
    expect(Date.parse(readThrough!)).toBeGreaterThan(sandbox.clock.now() - 5 * 60_000)
    for (const by of ['day', 'month']) expect((await ledger(env, '--by', by)).totals).toEqual(totals)
  })

  it('prints a table with totals and sentences for people, and only rows for programs', async () => {
    const { env } = await synced()
    const people = await inProcess(['ledger', '--by', 'month'], { env })
    expect(people.stdout).toMatch(/^Workspace ws_demo, read through \d{4}-/)
    expect(people.stdout).toContain('\nmonth ')
    expect(people.stdout).toMatch(/\ntotal +300 /)
    expect(people.stdout).toMatch(
      /\n {2}\d+ conversations were scanned and not returned, since no person had written in them/,
    )
    expect(people.stdout).not.toMatch(/About [\d,]+ sessions/)
    const [first] = (await ledger(env)).rows
    const byAgent = await inProcess(['ledger'], { env })
    expect(byAgent.stdout).toMatch(
      new RegExp(`\nagent +title +scanned +returned +skipped +exported\n${first!.key} +${first!.title} `),
    )
    const csv = await inProcess(['ledger', '--by', 'day', '--format', 'csv'], { env })
    expect(csv.stdout.split('\r\n')[0]).toBe(
      'workspace_id,day,scanned,returned,skipped,held,quarantined,incomplete,seen_in_events,known_stale,missing,not_exportable',
    )
    const both = await inProcess(['ledger', '--json', '--format', 'csv'], { env })
    expect(both.code).toBe(2)
    expect(both.stderr).toContain('--json and --format contradict each other.')
  })

  it('says which skipped conversations the next sync reads again, when and within which budget, as planned', async () => {
    const { env, home } = await synced()
    await inWarehouse(home, 'UPDATE _requests SET scanned = scanned + 40, sent_at = sent_at - INTERVAL 2 DAY')
    const { stdout } = await inProcess(['ledger'], { env })
    const [, ranges, sessions] =
      /→ Syncs read (\d+) ranges of the last 7d \(`rereadHorizon`\) again, the first from 20.* UTC on\. This bills up to ([\d,]+) sessions each time, within 2 % of the quota a period/.exec(
        stdout,
      )!
    const [planned] = jsonLines((await inProcess(['plan', '--json'], { env })).stdout) as [{ plan: Plan }]
    const rereads = planned.plan.windows.filter(({ progress }) => progress.window.kind === 'reread')
    expect(rereads).toHaveLength(Number(ranges))
    const priced = rereads.reduce((sum, { estimate }) => sum + estimate!.sessions.high, 0)
    expect(Number(sessions)).toBe(priced)
  })

  it('can be limited to an agent and to an age', async () => {
    const { env, sandbox } = await synced()
    const [agent] = sandbox.world.agentIds()
    const one = await ledger(env, '--agent', agent!)
    expect(one.rows.map(({ key }) => key)).toEqual([agent])
    const since = new Date(Date.now() - 10 * DAY).toISOString().slice(0, 10)
    const recent = await ledger(env, '--by', 'day', '--since', '10d')
    expect(recent.rows.length).toBeGreaterThan(5)
    for (const { key } of recent.rows) expect(key! >= since).toBe(true)
    const nobody = await inProcess(['ledger', '--workspace', 'nobody'], { env })
    expect(nobody.code).toBe(2)
    expect(nobody.stderr).toContain('WORKSPACE_UNKNOWN')
    for (const format of [[], ['--format', 'csv']]) {
      const typo = await inProcess(['ledger', '--agent', 'agent_typo', ...format], { env })
      expect([typo.code, typo.stdout]).toEqual([2, ''])
      expect(typo.stderr).toContain(`AGENT_UNKNOWN: The warehouse has no agent "agent_typo".`)
    }
  })

  it('names incomplete, stale, missing, quarantined and uncovered conversations, and estimates what syncs bill for them', async () => {
    const { env, home, sandbox } = await synced()
    const [agent, other] = sandbox.world.agentIds()
    const pick = (n: number) =>
      `(SELECT conversation_id FROM conversations ORDER BY conversation_id LIMIT 1 OFFSET ${n})`
    await inWarehouse(
      home,
      `UPDATE conversations SET _complete = false WHERE conversation_id = ${pick(0)};
       UPDATE conversations SET _dirty_since = now() WHERE conversation_id IN (${pick(1)}, ${pick(2)});
       UPDATE conversations SET _missing_since = now() WHERE conversation_id = ${pick(3)};
       INSERT INTO _quarantine SELECT workspace_id, 'conversation', file, 0, 'unreadable', now() FROM _requests WHERE kind = 'tail' LIMIT 1;
       UPDATE _covered SET from_sec = to_sec - 1000 WHERE agent_id = '${agent}';
       DELETE FROM _covered WHERE agent_id = '${other}'`,
    )
    const { differences, uncovered } = await ledger(env)
    const byKind = Object.fromEntries(differences.map(({ kind, count, sessions }) => [kind, { count, sessions }]))
    expect(byKind).toMatchObject({
      incomplete: { count: 1, sessions: 2 },
      stale: { count: 2, sessions: 3 },
      missing: { count: 1, sessions: 0 },
      quarantined: { count: 1, sessions: 0 },
      uncovered: { count: 1, sessions: null },
      unread: { count: 1, sessions: null },
    })
    expect(uncovered).toMatchObject([{ agentId: agent, from: null, days: null }])
    expect(differences.find(({ kind }) => kind === 'incomplete')!.hint).toContain('convohouse sync --ids -')
    expect(differences.find(({ kind }) => kind === 'unread')!.what).toContain(other)
  })

  it('does not claim that nothing was read of an agent whose first window is unfinished', async () => {
    const { env, home } = await synced()
    await inWarehouse(home, 'UPDATE _windows SET done = false; DELETE FROM _covered')
    const { rows, differences } = await ledger(env)
    expect(rows.some(({ held }) => held > 0)).toBe(true)
    const unread = differences.find(({ kind }) => kind === 'unread')!
    expect(unread.what).toMatch(/not been read, or .* an unfinished window: /)
    expect(unread.hint).toContain('convohouse plan')
  })

  it('says so if everything agrees', async () => {
    const { env, home } = await synced()
    await inWarehouse(home, 'UPDATE _requests SET scanned = returned')
    const { stdout } = await inProcess(['ledger'], { env })
    expect(stdout).toContain(
      'No difference: every conversation that the vendor scanned was returned and is in the tables.',
    )
  })
})
