import { describe, expect, it } from 'vitest'
import { conversation } from '../../src/catalog/conversation/conversation.ts'
import { compileInspection, needsCoercion, type PageNotes } from '../../src/catalog/inspection/inspect.ts'

const inspect = compileInspection(conversation)

/** Returns the notes on these records, converted to JSON and back, because a page's head stores them as JSON. */
const notesOf = (...records: unknown[]): PageNotes => JSON.parse(JSON.stringify(inspect(records))) as PageNotes

const NOTHING: PageNotes = { unknown: {}, mismatched: {}, unread: [], awkward: [] }

const parsed = (text: string): unknown => JSON.parse(text)

const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

describe('an inspection', () => {
  it('notes nothing about a record as documented', () => {
    const record = {
      ID: 'c',
      ts: 1_763_600_000,
      tags: ['a'],
      csat: { ease10: 1.5 },
      origin: [1],
      handoffHistory: [null],
    }
    expect(notesOf(record, { ID: 'd', csat: null, tags: null })).toEqual(NOTHING)
  })

  it('notes undeclared paths, also nested and in list elements, with type and count', () => {
    const record = {
      ID: 'c',
      title: 't',
      csat: { mood: { is: 'good' } },
      crmActivities: [{ priority: 1 }, { priority: 2, notesHistory: [{ pinned: true }] }],
    }
    expect(notesOf(record, { ID: 'd', title: 'u' }).unknown).toEqual({
      title: { count: 2, seen: 'string' },
      'csat.mood': { count: 1, seen: 'object' },
      'crmActivities[].priority': { count: 2, seen: 'number' },
      'crmActivities[].notesHistory[].pinned': { count: 1, seen: 'boolean' },
    })
  })

  it('ignores an unknown path that is always null', () => {
    expect(notesOf({ ID: 'c', title: null, csat: { mood: null } })).toEqual(NOTHING)
  })

  it('does not descend into fields that may contain anything', () => {
    expect(notesOf({ ID: 'c', origin: { deep: 1 }, capturedVariables: { any: { thing: [] } } })).toEqual(NOTHING)
  })

  it.each([
    ['a text', { userEmail: {} }, 'userEmail', 'text', 'object'],
    ['a number', { messagesNum: 'many' }, 'messagesNum', 'count', 'string'],
    ['a number, although DuckDB would read true as 1', { messagesNum: true }, 'messagesNum', 'count', 'boolean'],
    ['a number beyond every double', { messagesNum: '1e400' }, 'messagesNum', 'count', 'string'],
    ['a number, where DuckDB reads no leading zeros', { messagesNum: '007' }, 'messagesNum', 'count', 'string'],
    ['a number, where a double would lose digits', { messagesNum: 2 ** 60 }, 'messagesNum', 'count', 'number'],
    [
      'a number, where a double would lose digits of a text',
      { value: '9007199254740993' },
      'value',
      'number',
      'string',
    ],
    ['a whole number', { messagesNum: 2.5 }, 'messagesNum', 'count', 'number'],
    ['a whole number, as text', { messagesNum: '2.5' }, 'messagesNum', 'count', 'string'],
    ['a whole number that BIGINT holds', { messagesNum: 1e300 }, 'messagesNum', 'count', 'number'],
    ['a boolean', { isTest: 1 }, 'isTest', 'boolean', 'number'],
    ['a time', { ts: -1 }, 'ts', 'time', 'number'],
    ['a moment', { demoDate: false }, 'demoDate', 'moment', 'boolean'],
    ['an object', { csat: [] }, 'csat', 'object', 'array'],
    ['a list of texts', { tags: 'vip' }, 'tags', 'array of texts', 'string'],
    ['a list of texts with an object in it', { tags: ['vip', {}] }, 'tags', 'array of texts', 'array'],
    ['a list of objects', { crmActivities: ['x'] }, 'crmActivities', 'array of objects', 'array'],
    ['a nested number', { csat: { ease10: 'nine' } }, 'csat.ease10', 'number', 'string'],
    [
      'an element’s boolean',
      { crmActivities: [{ completed: 'yes' }] },
      'crmActivities[].completed',
      'boolean',
      'string',
    ],
  ])('notes a value that is not %s', (_what, fields, path, declared, seen) => {
    const notes = notesOf({ ID: 'c', ...fields })
    expect(notes.mismatched).toEqual({ [path]: { count: 1, declared, seen } })
    expect(needsCoercion(notes)).toBe(true)
  })

  it.each([
    ['a number for a text', { userPhone: 491_511 }],
    ['a numeric text for a number', { messagesNum: '42' }],
    ['a numeric text for a time', { ts: '1763600000' }],
    ['a number for a moment', { demoDate: 1_763_600_000 }],
    ['scalars in a list of texts', { tags: [1, true, null] }],
    ['a number for the id', { ID: 7 }],
  ])('accepts a lossless cast: %s', (_what, fields) => {
    expect(notesOf({ ID: 'c', ...fields })).toEqual(NOTHING)
  })

  it('counts zero times, which need no coercion', () => {
    const notes = notesOf(
      { ID: 'c', resolvedAt: 0, csat: { submittedAt: '0' } },
      { ID: 'd', resolvedAt: 0, messagesNum: 0 },
    )
    const zero = { issue: 'zero instead of a time', declared: 'time', seen: 'zero' }
    const unread = [
      { path: 'resolvedAt', ...zero, count: 2 },
      { path: 'csat.submittedAt', ...zero, count: 1 },
    ]
    expect(notes).toEqual({ ...NOTHING, unread })
    expect(needsCoercion(notes)).toBe(false)
  })

  it.each([null, 'text', 7, [], {}, { ID: '' }, { ID: null }, { ID: ['c'] }])(
    'notes that %j is not a record',
    element => {
      const seen = element === null ? 'null' : Array.isArray(element) ? 'array' : typeof element
      expect(notesOf(element).mismatched).toEqual({ '': { count: 1, declared: 'object with ID', seen } })
    },
  )

  it.each([
    ['a dot', '{"ID":"c","a.b":1}', 'a.b'],
    ['a quote', '{"ID":"c","a\\"b":1}', 'a"b'],
    ['no characters', '{"ID":"c","":1}', ''],
    ['our own prefix', '{"ID":"c","__extra":1}', '__extra'],
    ['the prototype’s name', '{"ID":"c","__proto__":{"polluted":1}}', '__proto__'],
    ['a lone surrogate', '{"ID":"c","\\ud800":1}', '\ud800'],
    ['the letters of a declared key in another case', '{"ID":"c","USEREMAIL":1}', 'USEREMAIL'],
    ['the letters of a nested declared key in another case', '{"ID":"c","csat":{"Ease10":1}}', 'csat.Ease10'],
    ['200 characters', `{"ID":"c","${'k'.repeat(200)}":1}`, 'k'.repeat(200)],
  ])('calls a key with %s awkward', (_what, text, path) => {
    const notes = inspect([parsed(text)])
    expect(notes.awkward).toEqual([path])
    expect(Object.keys(notes.unknown)).toEqual([])
    expect(needsCoercion(notes)).toBe(true)
  })

  it('calls the second of two keys that differ only by case awkward', () => {
    const notes = notesOf({ ID: 'c', title: 1 }, { ID: 'd', Title: 2 })
    expect(Object.keys(notes.unknown)).toEqual(['title'])
    expect(notes.awkward).toEqual(['Title'])
  })

  it.each(['constructor', 'hasOwnProperty', 'toString', 'valueOf'])('treats %s like any other key', key => {
    expect(notesOf(parsed(`{"ID":"c","${key}":"x"}`))).toEqual({
      ...NOTHING,
      unknown: { [key]: { count: 1, seen: 'string' } },
    })
  })

  it('adds at most 200 paths to a schema, and calls the others awkward', () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`key${index}`, index]))
    const notes = notesOf({ ID: 'c', ...many })
    expect(Object.keys(notes.unknown)).toHaveLength(200)
    expect(notes.awkward).toHaveLength(200)
  })

  it.each([
    ['an id beyond the integers that a double distinguishes', '{"ID":9007199254740993}', 'ID'],
    ['an id that is not an integer', '{"ID":1.5}', 'ID'],
    ['an unknown value nested deeper than DuckDB supports', `{"ID":"c","x":${nested(20_000)}}`, 'x'],
    ['a value of any shape nested that deep', `{"ID":"c","origin":${nested(20_000)}}`, 'origin'],
  ])('sends the page through the tolerant path because of %s', (_what, text, path) => {
    expect(inspect([parsed(text)]).awkward).toEqual([path])
  })
})
