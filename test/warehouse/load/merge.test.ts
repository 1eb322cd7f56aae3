import { describe, expect, it } from 'vitest'
import { MINUTE, SECOND } from '../../../src/core/time.ts'
import { landConversations, SENT_AT_MS } from '../landed-pages.ts'
import { MIRROR_LAG_MS, temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

const MODIFIED = 1_763_600_000

async function loadOne(workspace: Workspace, record: object, minute = 0) {
  const sentAtMs = SENT_AT_MS + minute * MINUTE
  return workspace.load(await landConversations(workspace.landing, { records: [{ ID: 'c', ...record }], sentAtMs }))
}

describe('a full record', () => {
  it('of an equal version wins if it was fetched later, in any order of loading', async () => {
    const workspace = app.workspace()
    const load = async (minute: number, ...ids: string[]) =>
      workspace.load(
        await landConversations(workspace.landing, {
          records: ids.map(ID => ({ ID, lastModified: MODIFIED, state: `fetched at ${minute}` })),
          sentAtMs: SENT_AT_MS + minute * MINUTE,
        }),
      )
    await load(1, 'newer first')
    await load(0, 'newer first', 'older first')
    await load(1, 'older first')
    const state = 'fetched at 1'
    expect(await workspace.rows('conversations', 'conversation_id AS id, state')).toEqual([
      { id: 'newer first', state },
      { id: 'older first', state },
    ])
  })

  it('does not affect the same conversation of another workspace', async () => {
    const [mine, yours] = [app.workspace(), app.workspace()]
    await loadOne(mine, { lastModified: MODIFIED, tags: ['mine'] })
    await loadOne(yours, { lastModified: MODIFIED + 1, tags: ['yours'] })
    expect(await mine.rows('conversation_tags', 'tag')).toEqual([{ tag: 'mine' }])
  })
})

describe('a conversation known to have changed', () => {
  const markDirty = (workspace: Workspace, atMs: number) =>
    app.warehouse.writer.run(
      `UPDATE conversations SET _dirty_since = make_timestamp(${atMs * 1_000}), _changed_at = make_timestamp(${atMs * 1_000}), _missing_since = make_timestamp(${atMs * 1_000})
       WHERE workspace_id = '${workspace.id}'`,
    )
  const changedAt = SENT_AT_MS + 10 * MINUTE

  it('stays so after a request that the mirror may have answered with an older state, but not after a later one', async () => {
    const workspace = app.workspace()
    const refetched = async (sentAtMs: number) => {
      await workspace.load(await landConversations(workspace.landing, { records: [{ ID: 'c' }], sentAtMs }))
      return workspace.rows('conversations', '_dirty_since IS NOT NULL AS dirty, _missing_since AS missing')
    }
    await loadOne(workspace, {})
    await markDirty(workspace, changedAt)
    expect(await refetched(changedAt + MIRROR_LAG_MS)).toEqual([{ dirty: true, missing: null }])
    expect(await refetched(changedAt + MIRROR_LAG_MS + SECOND)).toEqual([{ dirty: false, missing: null }])
  })
})
