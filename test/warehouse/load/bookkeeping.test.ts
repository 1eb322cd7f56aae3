import { describe, expect, it } from 'vitest'
import { MINUTE } from '../../../src/core/time.ts'
import { freshWindow, landAgents, landConversations, SENT_AT_MS } from '../landed-pages.ts'
import { temporaryWarehouse } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

const shown = (ms: number): string =>
  new Date(ms)
    .toISOString()
    .replace('T', ' ')
    .replace(/(\.000)?Z$/, '+00')

describe('a window', () => {
  it('is folded from its pages, in one batch or in several', async () => {
    const [once, twice] = [app.workspace(), app.workspace()]
    const window = freshWindow({ kind: 'tail', fromSec: 1_763_000_000, toSec: 1_763_600_000 })
    for (const workspace of [once, twice]) {
      const paged = (sequence: number, hasMore: boolean) =>
        landConversations(workspace.landing, {
          records: [{ ID: `c${sequence}` }],
          window,
          facts: { sequence, hasMore, cursorOut: hasMore ? `cursor ${sequence}` : null, scanned: 4, billed: 2 },
        })
      const pages = [await paged(1, true), await paged(2, true), await paged(3, false)]
      if (workspace === once) await workspace.load(...pages)
      else {
        await workspace.load(pages[0]!, pages[1]!)
        expect(await workspace.rows('_windows', `done, pages, progress->>'cursor' AS cursor`)).toEqual([
          { done: false, pages: 2, cursor: 'cursor 2' },
        ])
        await workspace.load(pages[2]!)
      }
    }
    const rows = await once.rows('_windows')
    expect(await twice.rows('_windows')).toEqual(rows)
    expect(rows).toMatchObject([
      {
        agent_id: window.agentId,
        window_name: window.name,
        kind: 'tail',
        from_at: shown(1_763_000_000_000),
        to_at: shown(1_763_600_000_000),
        done: true,
        pages: 3,
        returned: '3',
        scanned: '12',
        billed: '6',
      },
    ])
  })
})

describe('a listing of agents', () => {
  it('marks no agent that it lacks, however complete it is', async () => {
    const workspace = app.workspace()
    const list = async (minute: number, ids: string[], lastPage = true) =>
      workspace.load(
        await landAgents(workspace.landing, {
          agents: ids.map(ID => ({ ID })),
          sentAtMs: SENT_AT_MS + minute * MINUTE,
          lastPage,
        }),
      )
    const missing = async () =>
      (await workspace.rows('agents', 'agent_id, _missing_since IS NOT NULL AS missing')).flatMap(row =>
        row.missing ? [row.agent_id] : [],
      )
    await list(0, ['a1', 'a2', 'a3'])
    for (const isComplete of [false, true]) {
      await list(isComplete ? 2 : 1, ['a1'], isComplete)
      expect(await missing()).toEqual([])
    }
  })
})
