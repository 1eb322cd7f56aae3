// Versions with times in the future: none of them wins permanently.
import { describe, expect, it } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import { agedIds } from '../../src/warehouse/planning/refresh.ts'
import { applyTo, eventOf } from './events/events-in.ts'
import { AGENT, landConversations, SENT_AT_MS } from './landed-pages.ts'
import { temporaryWarehouse, type Workspace } from './temporary-warehouse.ts'

const app = temporaryWarehouse()

/** Times ahead of the answer's: the vendor's absurd value, then by years, days and hours. */
const AHEAD = [5e13, SENT_AT_MS + 3_650 * DAY, SENT_AT_MS + 30 * DAY, SENT_AT_MS + 6 * HOUR]

const load = async (workspace: Workspace, records: object[], sentAtMs: number) =>
  workspace.load(await landConversations(workspace.landing, { records, sentAtMs }))

const exported = (workspace: Workspace, record: object, sentAtMs: number) =>
  load(workspace, [{ ID: 'c', ...record }], sentAtMs)

const statesOf = async (workspace: Workspace) =>
  (await workspace.rows('conversations', 'conversation_id, state')).map(row => row.state)

describe('a lastModified in the future', () => {
  it('does not freeze its conversation: a later export wins with a correct one, with the same, with an earlier one, and without one', async () => {
    const workspace = app.workspace()
    const cases = AHEAD.flatMap(ahead =>
      [SENT_AT_MS - HOUR, SENT_AT_MS + MINUTE, ahead, ahead - 1, undefined].map(next => ({ ahead, next })),
    )
    const records = (state: string, modified: (one: (typeof cases)[number]) => number | undefined) =>
      cases.map((one, index) => ({ ID: `c${10 + index}`, state, lastModified: modified(one) }))
    await load(
      workspace,
      records('old', ({ ahead }) => ahead),
      SENT_AT_MS,
    )
    await load(
      workspace,
      records('new', ({ next }) => next),
      SENT_AT_MS + DAY,
    )
    expect(
      await workspace.rows(
        'conversations',
        'conversation_id, state, epoch_ms(last_modified)::DOUBLE AS modified, _version < _fetched_at + INTERVAL 1 HOUR AS sane',
      ),
    ).toEqual(
      cases.map(({ next }, index) => ({
        conversation_id: `c${10 + index}`,
        state: 'new',
        modified: next ?? null,
        sane: true,
      })),
    )
  })

  it('in an event does not protect its values from later exports', async () => {
    const workspace = app.workspace()
    const ids = AHEAD.map((_, index) => `c${index}`)
    const everywhere = async (state: string) => expect(await statesOf(workspace)).toEqual(ids.map(() => state))
    const exportAll = (state: string, lastModified: number, sentAtMs: number) =>
      load(
        workspace,
        ids.map(ID => ({ ID, state, lastModified })),
        sentAtMs,
      )
    const updateAll = (createdAt: number, state: string, lastModified: (index: number) => number) =>
      applyTo(
        workspace,
        ...ids.map((convoId, index) =>
          eventOf(
            'conversation_updated',
            {
              agentId: AGENT,
              convoId,
              createdAt,
              operation: 'updated',
              lightConvoData: { state, lastModified: lastModified(index) },
            },
            { receivedAtMs: createdAt },
          ),
        ),
      )
    await exportAll('exported', SENT_AT_MS - DAY, SENT_AT_MS)
    await updateAll(SENT_AT_MS + MINUTE, 'updated', index => AHEAD[index]!)
    await everywhere('updated')
    await exportAll('exported later', SENT_AT_MS + 2 * MINUTE, SENT_AT_MS + DAY)
    await everywhere('exported later')
    await updateAll(SENT_AT_MS + 2 * DAY, 'updated later', () => SENT_AT_MS + 2 * DAY)
    await everywhere('updated later')
  })

  it('does not count as activity: the conversation is not refreshed forever', async () => {
    const workspace = app.workspace()
    const old = SENT_AT_MS - 400 * DAY
    await exported(workspace, { lastModified: 5e13, ts: old, lastMessageTS: old }, SENT_AT_MS)
    const options = { activeSinceMs: SENT_AT_MS - 7 * DAY, readBeforeMs: SENT_AT_MS + DAY }
    expect(await agedIds(app.warehouse.writer, workspace.id, options)).toEqual([])
    await exported(workspace, { lastModified: SENT_AT_MS - DAY, ts: old, lastMessageTS: old }, SENT_AT_MS + HOUR)
    expect(await agedIds(app.warehouse.writer, workspace.id, options)).toEqual([{ agentId: AGENT, id: 'c' }])
  })
})

describe('an event with a creation time days or years in the future', () => {
  it('counts from its receipt: it neither marks its conversation as changed for years, nor protects its values', async () => {
    const workspace = app.workspace()
    await exported(workspace, { state: 'exported' }, SENT_AT_MS)
    const event = (createdAt: number) => {
      const values = { state: 'updated', lastModified: createdAt }
      return eventOf('conversation_updated', { agentId: AGENT, convoId: 'c', createdAt, lightConvoData: values })
    }
    const ahead = [5e13, SENT_AT_MS + 3 * 365 * DAY, SENT_AT_MS + 100 * DAY, SENT_AT_MS + 2 * DAY]
    await applyTo(workspace, ...ahead.map(event))
    expect(await statesOf(workspace)).toEqual(['updated'])
    await exported(workspace, { state: 'exported later' }, SENT_AT_MS + DAY)
    expect(await workspace.rows('conversations', 'state, _dirty_since')).toEqual([
      { state: 'exported later', _dirty_since: null },
    ])
  })
})
