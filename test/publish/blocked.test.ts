// Publications while a check that blocks a table fails: the target keeps its state, except that erased data is removed.
import { expect, it } from 'vitest'
import { MINUTE } from '../../src/core/time.ts'
import { targetStatuses } from '../../src/reports/publications.ts'
import { beginEpoch } from '../../src/warehouse/changes/log-changes.ts'
import { eraseRecords } from '../../src/warehouse/maintenance/erase-records.ts'
import { rowsHere } from '../../src/warehouse/query/rows.ts'
import { isDeep } from '../tier.ts'
import { applyTo, eventOf } from '../warehouse/events/events-in.ts'
import { AGENT, landConversations, SENT_AT_MS } from '../warehouse/landed-pages.ts'
import { temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'
import { bytesContain, KEEP, newTarget, publishTo, rowsIn, valuesIn } from './published.ts'
import { newParquet, valuesContain } from './published-parquet.ts'

const app = temporaryWarehouse()

it('are refused, reach the target again when it passes, and bring erasures and narrower settings nevertheless', async () => {
  const { writer } = app.warehouse
  const place = app.workspace()
  const target = newTarget(app.home)
  const files = newParquet(app.home)
  const load = async (names: Record<string, string>, minute: number) => {
    const records = Object.entries(names).map(([ID, userName]) => ({ ID, userName, tags: [userName] }))
    await place.load(await landConversations(place.landing, { records, sentAtMs: SENT_AT_MS + minute * MINUTE }))
  }
  const fail = (name = 'tags_unique', table = 'conversation_tags') =>
    writer.run(`INSERT INTO _checks BY NAME SELECT '${name}' AS name, '' AS about, '${table}' AS table_name, 'error' AS severity,
      true AS blocks, 'failed' AS outcome, '[]' AS examples, now() AS checked_at, 0 AS duration_ms, '' AS epoch, 0 AS seq`)
  const pass = () => writer.run('DELETE FROM _checks')
  const lead = (leadName: string, after: number) =>
    applyTo(place, eventOf('lead_captured', { agentId: AGENT, leadName, createdAt: SENT_AT_MS + after }))
  const rows = rowsHere(app.warehouse.instance, { timeoutMs: 10_000, signal: new AbortController().signal })
  const failure = async () => (await targetStatuses(rows, [target], Date.now()))[0]!.failure
  const names = async () => (await rowsIn(target.path, 'SELECT user_name FROM conversations ORDER BY ALL')).flat()
  const leads = async () => (await rowsIn(target.path, 'SELECT lead_name FROM leads ORDER BY ALL')).flat()
  const blocked = {
    code: 'PUBLICATION_BLOCKED',
    message: `The check tags_unique fails, which blocks conversations: target ${target.name} stays as it is.`,
  }

  await load({ a: 'Ann', gone: 'vergissmeinnicht' }, 1)
  await publishTo(app, target)

  await fail()
  await load({ a: 'Ava' }, 2)
  await lead('Lia', 1)
  await expect(publishTo(app, target, { refill: true })).rejects.toMatchObject(blocked)
  expect([await names(), await leads()]).toEqual([['Ann', 'vergissmeinnicht'], []])
  expect(await failure()).toMatchObject({ code: 'PUBLICATION_BLOCKED', attempts: 1, what: blocked.message })

  // No other reason for a refill, such as a new epoch or another layout of tables, takes a target's rows.
  await beginEpoch(writer)
  await expect(publishTo(app, target)).rejects.toMatchObject(blocked)
  expect(await names()).toEqual(['Ann', 'vergissmeinnicht'])
  await pass()
  await publishTo(app, target)
  if (isDeep) await publishTo(app, files)
  await fail()

  const records = [{ table: 'conversations', key: [AGENT, 'gone'] }]
  await eraseRecords(writer, { workspaceId: place.id, records, nowMs: SENT_AT_MS })
  const emptied = { code: 'PUBLICATION_BLOCKED', message: expect.stringMatching(/without rows in conversations\.$/) }
  for (const one of isDeep ? [target, files] : [target])
    await expect(publishTo(app, one)).rejects.toMatchObject(emptied)
  expect([await names(), await leads()]).toEqual([[], ['Lia']])
  expect(await bytesContain(target.path, 'vergissmeinnicht')).toBe(false)
  if (isDeep) expect(await valuesContain(files.path, 'vergissmeinnicht')).toBe(false)
  expect(await failure()).toMatchObject({ code: 'PUBLICATION_BLOCKED', attempts: 1 })

  await fail('leads_known', 'leads')
  await expect(publishTo(app, target)).rejects.toMatchObject({ message: expect.stringMatching(/ stays as it is\.$/) })
  expect(await leads()).toEqual(['Lia'])

  const narrower = { ...target, pii: { ...KEEP, identity: 'drop' as const } }
  await expect(publishTo(app, narrower, { refill: true })).rejects.toMatchObject({ code: 'PUBLICATION_BLOCKED' })
  expect(await valuesIn(target.path, 'Lia')).toEqual([])

  await pass()
  expect(await publishTo(app, target, { verify: true })).toMatchObject({ kind: 'refill', reason: 'other policy' })
  expect([await names(), await leads()]).toEqual([['Ava'], ['Lia']])
  expect(await failure()).toBeNull()
})
