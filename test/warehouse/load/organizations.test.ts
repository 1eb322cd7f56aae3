import { describe, expect, it } from 'vitest'
import { MINUTE } from '../../../src/core/time.ts'
import { landOrganization, landTeams, SENT_AT_MS } from '../landed-pages.ts'
import { temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

const at = (minute: number) => SENT_AT_MS + minute * MINUTE

/** Ids of a table's rows; those that are marked as missing have a minus. */
const ids = async (workspace: Workspace, table: 'organizations' | 'teams') => {
  const id = table === 'teams' ? 'team_id' : 'organization_id'
  const rows = await workspace.rows(table, `${id} AS id, _missing_since IS NOT NULL AS missing`)
  return rows.map(row => `${row.missing ? '-' : ''}${row.id}`)
}

describe('organizations', () => {
  const tell = (
    workspace: Workspace,
    minute: number,
    id: string,
    data: unknown | null = { ID: id, name: `at ${minute}` },
  ) => landOrganization(workspace.landing, { id, data, sentAtMs: at(minute) })
  const list = (workspace: Workspace, minute: number, id: string, teams: string[], lastPage = true) =>
    landTeams(workspace.landing, {
      id,
      teams: teams.map(ID => ({ ID, orgId: id, memberIds: ['u'] })),
      lastPage,
      sentAtMs: at(minute),
    })

  it('stay when they are gone, with their teams and the time since when, until they are returned again', async () => {
    const workspace = app.workspace()
    await workspace.load(
      await tell(workspace, 0, 'o1'),
      await tell(workspace, 0, 'o2'),
      await list(workspace, 0, 'o1', ['t1']),
      await list(workspace, 0, 'o2', ['t2']),
    )
    await workspace.load(await tell(workspace, 1, 'o1', null))
    expect([await ids(workspace, 'organizations'), await ids(workspace, 'teams')]).toEqual([
      ['-o1', 'o2'],
      ['-t1', 't2'],
    ])
    await workspace.load(await tell(workspace, 2, 'o1', null))
    expect(await workspace.rows('organizations', 'epoch_ms(_missing_since)::DOUBLE AS since')).toEqual([
      { since: at(1) },
      { since: null },
    ])
    await workspace.load(await tell(workspace, 3, 'o1'), await list(workspace, 3, 'o1', ['t1']))
    expect(await ids(workspace, 'organizations')).toEqual(['o1', 'o2'])
    expect(await ids(workspace, 'teams')).toEqual(['t1', 't2'])
  })

  it('that were returned later are not marked by an older answer', async () => {
    const workspace = app.workspace()
    await workspace.load(await tell(workspace, 5, 'o1'))
    await workspace.load(await tell(workspace, 4, 'o1', null))
    expect(await ids(workspace, 'organizations')).toEqual(['o1'])
  })

  it('that are unknown leave no row', async () => {
    const workspace = app.workspace()
    expect(await workspace.load(await tell(workspace, 0, 'nobody', null))).toMatchObject({ files: 1, records: 0 })
    expect(await ids(workspace, 'organizations')).toEqual([])
    expect(await workspace.rows('_requests', 'stream, status, returned')).toEqual([
      { stream: 'organizations', status: 404, returned: null },
    ])
  })

  it('have one row each, with the newest answer and its children', async () => {
    const workspace = app.workspace()
    const data = (name: string, adminIDs: string[]) => ({ ID: 'o1', name, adminIDs, supportIDs: ['s'] })
    await workspace.load(await tell(workspace, 0, 'o1', data('old', ['a', 'b'])))
    await workspace.load(await tell(workspace, 1, 'o1', data('new', ['c'])))
    expect(await workspace.rows('organizations', 'name, _source')).toEqual([{ name: 'new', _source: 'api' }])
    expect(await workspace.rows('organization_members', 'role, position, user_id')).toEqual([
      { role: 'admin', position: 1, user_id: 'c' },
      { role: 'support', position: 1, user_id: 's' },
    ])
  })

  it('lose the teams that a complete list omits, and no teams of other organizations', async () => {
    const workspace = app.workspace()
    await workspace.load(await list(workspace, 0, 'o1', ['t1', 't2']), await list(workspace, 0, 'o2', ['t3']))
    await workspace.load(await list(workspace, 1, 'o1', ['t1'], false))
    expect(await ids(workspace, 'teams')).toEqual(['t1', 't2', 't3'])
    await workspace.load(await list(workspace, 2, 'o1', ['t1']))
    expect(await ids(workspace, 'teams')).toEqual(['t1', '-t2', 't3'])
  })
})
