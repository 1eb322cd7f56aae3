import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { layoutOf } from '../../../src/catalog/layout.ts'
import { RECORD_TYPES } from '../../../src/catalog/records.ts'
import { publishedMart } from '../../../src/warehouse/changes/published-tables.ts'
import { recordChecks, warehouseChecks } from '../../../src/warehouse/checks/all-checks.ts'
import { marts } from '../../../src/warehouse/marts/declarations.ts'
import { refreshMarts } from '../../../src/warehouse/marts/refresh.ts'
import { applyTo, eventOf } from '../events/events-in.ts'
import { AGENT, freshWindow, landConversations, landOrganization, landTeams } from '../landed-pages.ts'
import { temporaryWarehouse } from '../temporary-warehouse.ts'

const views = new URL('../../../sql/views/', import.meta.url)
const sqlOf = (where: URL) =>
  readdirSync(where).map(name => [name, readFileSync(new URL(name, where), 'utf8')] as const)

describe('the checks of the warehouse', () => {
  const app = temporaryWarehouse()

  it('find no fault in loaded data, and find data that was broken by hand', async () => {
    const workspace = app.workspace()
    const record = {
      ID: 'c1',
      ts: 1_763_000_000_000,
      tags: ['a'],
      sessions: [{ id: 's' }],
      crmActivities: [{ id: 'x' }],
    }
    await workspace.load(await landConversations(workspace.landing, { records: [record], window: freshWindow() }))
    await workspace.load(
      await landOrganization(workspace.landing, { id: 'o1', data: { ID: 'o1', adminIDs: ['u1'], widgetIDs: ['a1'] } }),
      await landTeams(workspace.landing, { id: 'o1', teams: [{ ID: 't1', orgId: 'o1', memberIds: ['u1'] }] }),
    )
    const at = { agentId: AGENT, convoId: 'c1', createdAt: 1_763_000_000_000 }
    await applyTo(
      workspace,
      eventOf('conversation_updated', { ...at, turns: [{ text: 'hello' }], messagesHistory: [{ role: 'user' }] }),
      eventOf('form_submitted', { ...at, formType: 'ui_engine_form', formData: { name: 'Eve' } }),
    )
    const { writer } = app.warehouse
    await refreshMarts(writer)
    for (const { name, sql } of await warehouseChecks()) expect(await writer.rows(sql), name).toEqual([])

    for (const { key, record, children } of RECORD_TYPES.map(type => layoutOf(type))) {
      const orphan = `(${key.join(', ')}) VALUES (${key.map(() => "'orphan'").join(', ')})`
      for (const table of [record.table, record.table, ...children.map(child => child.table)])
        await writer.run(`INSERT INTO ${table} ${orphan}`)
    }
    const keys = {
      VARCHAR: `'twice'`,
      BIGINT: '1',
      DATE: `DATE '2026-01-01'`,
      INTEGER: '1',
      TIMESTAMPTZ: `TIMESTAMPTZ '2026-01-01'`,
    }
    for (const { table, key } of marts().map(publishedMart)) {
      const row = `(${key.map(({ sqlType }) => keys[sqlType]).join(', ')})`
      await writer.run(`INSERT INTO ${table} (${key.map(({ name }) => name).join(', ')}) VALUES ${row}, ${row}`)
    }
    await writer.run('INSERT INTO _loads SELECT * FROM _loads LIMIT 1')
    await writer.run('UPDATE _covered SET to_sec = to_sec + 1')
    await writer.run('DELETE FROM conversation_observations')
    for (const { name, sql } of await warehouseChecks())
      expect((await writer.rows(sql)).length, name).toBeGreaterThan(0)
  })

  it('compare every child table with its records', () => {
    const rules = recordChecks().flatMap(({ name, sql }) => (name.startsWith('children_of_') ? [sql] : []))
    const children = RECORD_TYPES.flatMap(record => layoutOf(record).children.map(({ table }) => table))
    for (const table of children) expect(rules.join('\n')).toContain(`FROM ${table} ANTI JOIN`)
  })

  it('skip views, which begin with their description and can be queried', async () => {
    for (const [name, sql] of sqlOf(views)) {
      expect(sql, name).toMatch(new RegExp(`^-- ${name.replace('.sql', '')}: `))
      expect(await app.warehouse.writer.rows(`SELECT * FROM ${name.replace('.sql', '')} LIMIT 1`), name).toBeInstanceOf(
        Array,
      )
    }
  })
})
