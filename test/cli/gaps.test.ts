// Every command shows a range that could not be read, and no command says "up to date" while such a range is known.
import { describe, expect, it } from 'vitest'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { inProcess } from './in-process.ts'
import { syncedOnce } from './synced-once.ts'

const FROM = Date.UTC(2026, 10, 3, 10, 2) / 1_000
const SINCE_MS = Date.UTC(2026, 10, 20, 8)

// The clock stops some time after the last conversation, so all conversations have settled.
const synced = syncedOnce(
  { agents: 2, conversations: 60, startMs: Date.UTC(2026, 10, 20, 12), speed: 0 },
  {},
  ({ clock }) => clock.advance(10 * 60_000),
)

/** Changes the warehouse directly, while no process holds it. */
async function inWarehouse(home: string, sql: string): Promise<void> {
  const { writer, close } = await openWarehouse({ home, memoryLimit: '1GB', threads: 1 })
  await writer.run(sql).finally(close)
}

/** Returns the SQL that records an unread range in the last window of an agent. */
function gapSql(agentId: string, gap: object, { covered = false } = {}): string {
  const progress = JSON.stringify({
    gap: { code: 'API_NOT_JSON', what: 'Not JSON.', sinceMs: SINCE_MS, tries: 1, ...gap },
  })
  const hole = `DELETE FROM _covered WHERE agent_id = '${agentId}';
    INSERT INTO _covered SELECT workspace_id, '${agentId}', 0, ${FROM - 1} FROM _workspaces;
    INSERT INTO _covered SELECT workspace_id, '${agentId}', ${FROM + 240}, epoch(TIMESTAMPTZ '2027-01-01')::BIGINT FROM _workspaces;`
  return `INSERT INTO _windows SELECT workspace_id, '${agentId}', 'gap', 'reread', NULL, NULL, TIMESTAMPTZ '2026-11-20 23:00', true, 0, 0, 0, 0,
      '${progress}' FROM _workspaces;
    ${covered ? '' : hole}`
}

const RANGE = { fromSec: FROM, toSec: FROM + 200 }

async function withGap(options: { covered?: boolean } = {}) {
  const scene = await synced()
  const [agent] = scene.sandbox.world.agentIds()
  await inWarehouse(scene.home, gapSql(agent!, RANGE, options))
  const text = `${agent}: 2026-11-03 10:02 to 10:05 cannot be read since 2026-11-20 (API_NOT_JSON: Not JSON); tried again after 2026-11-21 01:00`
  const run = async (...args: string[]) => (await inProcess(args, { env: scene.env })).stdout
  return { ...scene, agent: agent!, text, run }
}

describe('a range that could not be read', () => {
  it('is named with agent, reason and the time of the next try by status, ledger, plan, doctor and the result of a sync, none of which claims that everything is stored', async () => {
    const { text, run, agent } = await withGap()
    expect(await run('status')).toContain(`\n  unreadable   ${text}\n`)
    const [workspace] = JSON.parse(await run('status', '--json')).workspaces
    expect(workspace.gaps).toEqual([
      {
        agentId: agent,
        ...RANGE,
        ...{ code: 'API_NOT_JSON', what: 'Not JSON.', sinceMs: SINCE_MS, tries: 1 },
        retryAtMs: Date.UTC(2026, 10, 21, 1),
      },
    ])
    expect(await run('ledger')).toContain(`1 range cannot be read: ${text}.`)
    expect(await run('doctor', '--offline')).toMatch(
      new RegExp(`warn +gaps +ws_demo: ${agent}: 2026-11-03 10:02 to 10:05 cannot`),
    )
    const planned = await run('plan', '--agent', agent, '--since', '2026-11-10')
    expect(planned).toContain(text)
    expect(planned).toContain('Nothing to read now, but not everything is stored')
    const result = await run('sync', '--since', '2026-11-10')
    expect(result).toContain('ws_demo: ended, but not everything is stored')
    expect(result).toContain(`\n  ${text}\n`)
    const machine = await run('sync', '--since', '2026-11-10', '--json')
    const { gaps } = JSON.parse(machine.trim().split('\n').at(-1)!)
    expect(gaps).toMatchObject([{ agentId: agent, ...RANGE }])
  })

  it('is no longer mentioned once it has been read', async () => {
    const { text, run } = await withGap({ covered: true })
    for (const command of ['status', 'plan', 'ledger']) expect(await run(command), command).not.toContain(text)
    expect(await run('sync')).toMatch(/ws_demo: up to date(?!.*cannot be read)/s)
  })
})

describe('a window that is not finished', () => {
  it('keeps a sync of another agent from claiming that the workspace is up to date', async () => {
    const { home, sandbox, env } = await synced()
    const [one, other] = sandbox.world.agentIds()
    await inWarehouse(home, `UPDATE _windows SET done = false WHERE agent_id = '${one}' AND kind = 'tail'`)
    const { stdout } = await inProcess(['sync', '--agent', other!], { env })
    expect(stdout).toContain('ws_demo: ended, but not everything is stored')
    expect(stdout).toContain('1 window left. `convohouse sync` reads them.')
  })
})
