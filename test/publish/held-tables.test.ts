// What a target lacks while a check that blocks one of its tables fails, and what is said and recorded of it.
import { expect, it } from 'vitest'
import { lackText } from '../../src/cli/status/target-text.ts'
import { MINUTE } from '../../src/core/time.ts'
import { targetStatuses } from '../../src/reports/publications.ts'
import { rowsHere } from '../../src/warehouse/query/rows.ts'
import { applyTo, eventOf } from '../warehouse/events/events-in.ts'
import { AGENT, landConversations, SENT_AT_MS } from '../warehouse/landed-pages.ts'
import { temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'
import { newTarget, publishTo, rowsIn } from './published.ts'

const app = temporaryWarehouse()

it('is nothing until the table changes, then its changes until the check passes, and all of its rows after a refill meanwhile', async () => {
  const { writer } = app.warehouse
  const place = app.workspace()
  const target = newTarget(app.home)
  const load = async (userName: string, minute: number) => {
    const page = { records: [{ ID: 'a', userName, tags: [userName] }], sentAtMs: SENT_AT_MS + minute * MINUTE }
    await place.load(await landConversations(place.landing, page))
  }
  const lead = (leadName: string, after: number) =>
    applyTo(place, eventOf('lead_captured', { agentId: AGENT, leadName, createdAt: SENT_AT_MS + after }))
  const rows = rowsHere(app.warehouse.instance, { timeoutMs: 10_000, signal: new AbortController().signal })
  const state = async () => (await targetStatuses(rows, [target], Date.now()))[0]!
  const contacts = () =>
    rowsIn(target.path, 'SELECT user_name, tag FROM conversations JOIN conversation_tags USING (conversation_id)')

  await load('Ann', 1)
  await publishTo(app, target)
  await writer.run(`INSERT INTO _checks BY NAME SELECT 'tags_unique' AS name, '' AS about, 'conversation_tags' AS table_name, 'error' AS severity,
    true AS blocks, 'failed' AS outcome, 'all' AS scope, '[]' AS examples, now()::TIMESTAMP AS checked_at, 0 AS duration_ms`)
  expect(await publishTo(app, target, { verify: true })).toMatchObject({ kind: 'current', held: [] })
  expect(await state()).toMatchObject({ behind: 0, held: [], empty: [], released: [] })

  await load('Ava', 2)
  await lead('Lia', 1)
  // Child tables are held back with their record.
  expect(await publishTo(app, target, { verify: true })).toMatchObject({ kind: 'delta', held: ['conversations'] })
  expect(await contacts()).toEqual([['Ann', 'Ann']])
  expect(await rowsIn(target.path, 'SELECT lead_name FROM leads')).toEqual([['Lia']])
  expect(await publishTo(app, target)).toMatchObject({ kind: 'current', held: ['conversations'] })
  expect(await state()).toMatchObject({ behind: 0, held: ['conversations'], empty: [], released: [] })

  const refilled = { kind: 'refill', held: ['conversations'], empty: ['conversations'] }
  expect(await publishTo(app, target, { refill: true })).toMatchObject(refilled)
  expect(await contacts()).toEqual([])
  await lead('Lou', 2)
  expect(await publishTo(app, target)).toMatchObject({ ...refilled, kind: 'delta' })
  expect(await state()).toMatchObject({ held: ['conversations'], empty: ['conversations'], released: [] })

  await writer.run('DELETE FROM _checks')
  expect(lackText(await state())).toBe(
    'has every other change; conversations: published next, since the check passes again',
  )
  expect(await publishTo(app, target, { verify: true })).toMatchObject({ kind: 'delta', held: [] })
  expect(await contacts()).toEqual([['Ava', 'Ava']])
  expect(lackText(await state())).toBe('has every change')

  // A process that is killed after its publication has not recorded the end.
  await writer.run(
    'UPDATE _publications SET ended_at = NULL WHERE started_at = (SELECT max(started_at) FROM _publications)',
  )
  expect(await state()).toMatchObject({ held: ['conversations'] })
  expect(await publishTo(app, target)).toMatchObject({ kind: 'current' })
  expect(await state()).toMatchObject({ behind: 0, held: [], failure: null })
})
