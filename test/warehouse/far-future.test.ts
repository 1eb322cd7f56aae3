// A version that says it is from the future: it never wins for good.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import { agedIds } from '../../src/warehouse/planning/refresh.ts'
import { rounds } from '../tier.ts'
import { applyTo, eventOf } from './events/events-in.ts'
import { AGENT, landConversations, SENT_AT_MS } from './landed-pages.ts'
import { temporaryWarehouse, type Workspace } from './temporary-warehouse.ts'

const app = temporaryWarehouse()

/** Ahead of the answer that told it: the absurd one of the vendor, years, days and hours. */
const AHEAD = [5e13, SENT_AT_MS + 3_650 * DAY, SENT_AT_MS + 30 * DAY, SENT_AT_MS + 6 * HOUR]

const exported = async (workspace: Workspace, record: object, sentAtMs: number) =>
  workspace.load(await landConversations(workspace.landing, { records: [{ ID: 'c', ...record }], sentAtMs }))

const stateOf = async (workspace: Workspace) => (await workspace.rows('conversations', 'state'))[0]!.state

describe('a lastModified that lies ahead', () => {
  it.each(AHEAD)(
    '(%d) does not freeze the conversation against later exports, told rightly, so again, or not at all',
    async ahead => {
      for (const next of [SENT_AT_MS - HOUR, SENT_AT_MS + MINUTE, ahead, ahead - 1, undefined]) {
        const workspace = app.workspace()
        await exported(workspace, { state: 'old', lastModified: ahead }, SENT_AT_MS)
        await exported(workspace, { state: 'new', lastModified: next }, SENT_AT_MS + DAY)
        expect(await stateOf(workspace)).toBe('new')
        const [row] = await workspace.rows(
          'conversations',
          'epoch_ms(last_modified)::DOUBLE AS told, _version < _fetched_at + INTERVAL 1 HOUR AS sane',
        )
        expect(row).toEqual({ told: next === undefined ? null : next, sane: true })
      }
    },
  )

  it('gives the same row in whatever order, and in one batch', async () => {
    const version = fc.record({ hour: fc.nat(200), modified: fc.constantFrom(...AHEAD, -1, null) })
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(version, { selector: one => one.hour, minLength: 2, maxLength: 6 }),
        async versions => {
          const states = new Set<unknown>()
          for (const order of [versions, [...versions].reverse(), 'batch' as const]) {
            const workspace = app.workspace()
            const pages = []
            for (const { hour, modified } of order === 'batch' ? versions : order) {
              const sentAtMs = SENT_AT_MS + hour * HOUR
              // A conversation that was changed just before it was exported, unless it claims to be from the future.
              const lastModified =
                modified === -1 ? sentAtMs - 5 * MINUTE : modified === null ? null : modified + hour * HOUR
              const records = [{ ID: 'c', state: `at ${hour}`, lastModified }]
              pages.push(await landConversations(workspace.landing, { records, sentAtMs }))
            }
            if (order === 'batch') await workspace.load(...pages)
            else for (const page of pages) await workspace.load(page)
            states.add(await stateOf(workspace))
          }
          expect([...states]).toEqual([`at ${Math.max(...versions.map(({ hour }) => hour))}`])
        },
      ),
      { numRuns: rounds('FAULT_RUNS', { usual: 2, deep: 60 }), seed: 14 },
    )
  })

  it.each(AHEAD)('(%d) in an event does not hold its values against later exports', async ahead => {
    const workspace = app.workspace()
    await exported(workspace, { state: 'exported', lastModified: SENT_AT_MS - DAY }, SENT_AT_MS)
    const event = (createdAt: number, lightConvoData: object) =>
      eventOf(
        'conversation_updated',
        { agentId: AGENT, convoId: 'c', createdAt, operation: 'updated', lightConvoData },
        { receivedAtMs: createdAt },
      )
    await applyTo(workspace, event(SENT_AT_MS + MINUTE, { state: 'told', lastModified: ahead }))
    expect(await stateOf(workspace)).toBe('told')
    await exported(workspace, { state: 'again', lastModified: SENT_AT_MS + 2 * MINUTE }, SENT_AT_MS + DAY)
    expect(await stateOf(workspace)).toBe('again')
    await applyTo(workspace, event(SENT_AT_MS + 2 * DAY, { state: 'told again', lastModified: SENT_AT_MS + 2 * DAY }))
    expect(await stateOf(workspace)).toBe('told again')
  })

  it('is no sign of life: the conversation is not exported again for ever', async () => {
    const workspace = app.workspace()
    const old = SENT_AT_MS - 400 * DAY
    await exported(workspace, { lastModified: 5e13, ts: old, lastMessageTS: old }, SENT_AT_MS)
    const options = { activeSinceMs: SENT_AT_MS - 7 * DAY, readBeforeMs: SENT_AT_MS + DAY }
    expect(await agedIds(app.warehouse.writer, workspace.id, options)).toEqual([])
    await exported(workspace, { lastModified: SENT_AT_MS - DAY, ts: old, lastMessageTS: old }, SENT_AT_MS + HOUR)
    expect(await agedIds(app.warehouse.writer, workspace.id, options)).toEqual([{ agentId: AGENT, id: 'c' }])
  })
})

describe('an event that was created days or years ahead', () => {
  it('has happened when it was received: it marks no conversation as changed for years, nor holds its values', async () => {
    const workspace = app.workspace()
    await exported(workspace, { state: 'exported' }, SENT_AT_MS)
    for (const createdAt of [5e13, SENT_AT_MS + 3 * 365 * DAY, SENT_AT_MS + 100 * DAY, SENT_AT_MS + 2 * DAY]) {
      const told = {
        agentId: AGENT,
        convoId: 'c',
        createdAt,
        lightConvoData: { state: 'told', lastModified: createdAt },
      }
      await applyTo(workspace, eventOf('conversation_updated', told))
    }
    await exported(workspace, { state: 'again' }, SENT_AT_MS + DAY)
    expect(await workspace.rows('conversations', 'state, _dirty_since')).toEqual([
      { state: 'again', _dirty_since: null },
    ])
  })
})
