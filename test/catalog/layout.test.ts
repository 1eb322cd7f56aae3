import { describe, expect, it } from 'vitest'
import { migrate, tablesOf } from '../../src/catalog/ddl.ts'
import { childSelect } from '../../src/catalog/extraction.ts'
import { layoutOf, quoteName, quoteText } from '../../src/catalog/layout.ts'
import { RECORD_TYPES } from '../../src/catalog/records.ts'
import {
  any,
  boolean,
  group,
  moment,
  number,
  objects,
  type RecordType,
  snakeCase,
  text,
  texts,
  time,
} from '../../src/catalog/shape.ts'

const ship: RecordType = {
  name: 'ship',
  table: 'ships',
  about: 'One row for each ship',
  id: { key: 'ID', column: 'ship_id' },
  perAgent: false,
  fields: {
    ID: text('Id', { column: 'ship_id' }),
    homePort: group('Port', { portName: text('Name'), dueDate: moment('Due, as sent', 'due_at') }),
    launchedTS: time('Launch'),
    tonnage: number('Size', { unit: 't' }),
    afloat: boolean('Afloat'),
    log: any('Log'),
    flags: texts('Flags', 'ship_flags', 'flag'),
    mates: texts('People', 'ship_people', 'person', { label: { column: 'post', value: 'mate', about: 'Post' } }),
    cooks: texts('People', 'ship_people', 'person', { label: { column: 'post', value: 'cook', about: 'Post' } }),
    crew: objects('Crew', 'ship_crew', { name: text('Name'), watches: texts('Watches', 'ship_crew_watches', 'watch') }),
  },
  derived: [],
  modifiedKey: null,
  extra: 'unknown',
}

const layout = layoutOf(ship)

describe('a layout', () => {
  it('gives each scalar a column, with the name of its object before it', () => {
    expect(layout.columns.map(({ name, sqlType, path }) => [name, sqlType, path])).toEqual([
      ['home_port_port_name', 'VARCHAR', 'homePort.portName'],
      ['home_port_due_date', 'VARCHAR', 'homePort.dueDate'],
      ['home_port_due_at', 'TIMESTAMP', 'homePort.dueDate'],
      ['launched_ts', 'TIMESTAMP', 'launchedTS'],
      ['tonnage', 'DOUBLE', 'tonnage'],
      ['afloat', 'BOOLEAN', 'afloat'],
      ['log', 'JSON', 'log'],
    ])
  })

  it('tells for each column the top-level key that it comes from', () => {
    expect(layout.columns.find(column => column.name === 'home_port_due_at')?.from).toEqual(['homePort'])
    expect(layout.children.map(child => [child.table, child.from])).toEqual([
      ['ship_flags', 'flags'],
      ['ship_people', 'mates'],
      ['ship_crew', 'crew'],
      ['ship_crew_watches', 'crew'],
    ])
  })

  it('gives each list a child table with positions, its own and its parent’s', () => {
    expect(layout.children.map(child => child.columns.map(column => column.name))).toEqual([
      ['position', 'flag'],
      ['post', 'position', 'person'],
      ['position', 'name', 'extra'],
      ['ship_crew_position', 'position', 'watch'],
    ])
  })

  it('lays lists with a label one below another, each row with its label', () => {
    const people = layout.children.find(child => child.table === 'ship_people')!
    expect(people.columns.at(-1)).toMatchObject({ name: 'person', path: 'mates[]|cooks[]' })
    const select = childSelect({ layout, child: people, stage: 'stage', workspaceId: 'w', number: '1', unknown: {} })
    expect(select).toMatch(/'mate' AS label, s\."mates" AS l0 .* UNION ALL .*'cook' AS label, s\."cooks" AS l0/)
  })

  it.each(RECORD_TYPES)('of $name has no two columns of one name in a table', record => {
    for (const table of tablesOf(layoutOf(record))) {
      const names = table.columns.map(column => column.name.toLowerCase())
      expect(
        names.filter((name, index) => names.indexOf(name) !== index),
        table.name,
      ).toEqual([])
    }
  })

  it('has no two tables of one name, over all record types', () => {
    const names = RECORD_TYPES.flatMap(record => tablesOf(layoutOf(record))).map(table => table.name)
    expect(new Set(names).size).toBe(names.length)
  })
})

describe('a migration', () => {
  const [table] = tablesOf(layout)

  it('creates a table that is not there', () => {
    const [statement, ...more] = migrate(table!, new Set())
    expect(statement).toMatch(/^CREATE TABLE "ships" \("workspace_id" VARCHAR, "ship_id" VARCHAR, /)
    expect(more).toEqual([])
  })

  it('adds the columns that a table lacks, and drops none that it has beside', () => {
    const existing = new Set(table!.columns.map(column => column.name).filter(name => name !== 'tonnage'))
    expect(migrate(table!, existing.add('retired'))).toEqual(['ALTER TABLE "ships" ADD COLUMN "tonnage" DOUBLE'])
  })

  it('does nothing to a table that is as declared', () => {
    expect(migrate(table!, new Set(table!.columns.map(column => column.name)))).toEqual([])
  })
})

describe('a name', () => {
  it.each([
    ['userEmail', 'user_email'],
    ['firstMessageTS', 'first_message_ts'],
    ['ID', 'id'],
    ['userID', 'user_id'],
    ['listenUrlUNIX', 'listen_url_unix'],
    ['overdueECD', 'overdue_ecd'],
    ['satisfaction10', 'satisfaction10'],
    ['linkedIn', 'linked_in'],
  ])('%s becomes the column %s', (key, column) => expect(snakeCase(key)).toBe(column))

  it('is quoted so that no quote in it ends it', () => {
    expect(quoteName('a"b')).toBe('"a""b"')
    expect(quoteText("it's")).toBe("'it''s'")
  })
})
