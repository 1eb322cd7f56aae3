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
  it('has a column for each scalar, prefixed with the name of its object', () => {
    expect(layout.columns.map(({ name, sqlType, path }) => [name, sqlType, path])).toEqual([
      ['home_port_port_name', 'VARCHAR', 'homePort.portName'],
      ['home_port_due_date', 'VARCHAR', 'homePort.dueDate'],
      ['home_port_due_at', 'TIMESTAMPTZ', 'homePort.dueDate'],
      ['launched_ts', 'TIMESTAMPTZ', 'launchedTS'],
      ['tonnage', 'DOUBLE', 'tonnage'],
      ['afloat', 'BOOLEAN', 'afloat'],
      ['log', 'JSON', 'log'],
    ])
  })

  it('names the top-level key of each column and child table', () => {
    expect(layout.columns.find(column => column.name === 'home_port_due_at')?.from).toEqual(['homePort'])
    expect(layout.children.map(child => [child.table, child.from])).toEqual([
      ['ship_flags', 'flags'],
      ['ship_people', 'mates'],
      ['ship_crew', 'crew'],
      ['ship_crew_watches', 'crew'],
    ])
  })

  it('has a child table for each list, with its own and its parent’s positions', () => {
    expect(layout.children.map(child => child.columns.map(column => column.name))).toEqual([
      ['position', 'flag'],
      ['post', 'position', 'person'],
      ['position', 'name', 'extra'],
      ['ship_crew_position', 'position', 'watch'],
    ])
  })

  it('combines lists with a label in one table, each row with its label', () => {
    const people = layout.children.find(child => child.table === 'ship_people')!
    expect(people.columns.at(-1)).toMatchObject({ name: 'person', path: 'mates[]|cooks[]' })
    const select = childSelect({ layout, child: people, stage: 'stage', workspaceId: 'w', number: '1', unknown: {} })
    expect(select).toMatch(/'mate' AS label, s\."mates" AS l0 .* UNION ALL .*'cook' AS label, s\."cooks" AS l0/)
  })

  it.each(RECORD_TYPES)('of $name has distinct column names in each table', record => {
    for (const table of tablesOf(layoutOf(record))) {
      const names = table.columns.map(column => column.name.toLowerCase())
      expect(
        names.filter((name, index) => names.indexOf(name) !== index),
        table.name,
      ).toEqual([])
    }
  })

  it('has distinct table names over all record types', () => {
    const names = RECORD_TYPES.flatMap(record => tablesOf(layoutOf(record))).map(table => table.name)
    expect(new Set(names).size).toBe(names.length)
  })
})

describe('a migration', () => {
  const [table] = tablesOf(layout)

  it('creates a missing table', () => {
    const [statement, ...more] = migrate(table!, new Set())
    expect(statement).toMatch(/^CREATE TABLE "ships" \("workspace_id" VARCHAR, "ship_id" VARCHAR, /)
    expect(more).toEqual([])
  })

  it('adds missing columns, and drops no additional ones', () => {
    const existing = new Set(table!.columns.map(column => column.name).filter(name => name !== 'tonnage'))
    expect(migrate(table!, existing.add('retired'))).toEqual(['ALTER TABLE "ships" ADD COLUMN "tonnage" DOUBLE'])
  })

  it('leaves a table alone that matches its declaration', () => {
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

  it('is quoted with its own quotes escaped', () => {
    expect(quoteName('a"b')).toBe('"a""b"')
    expect(quoteText("it's")).toBe("'it''s'")
  })
})
