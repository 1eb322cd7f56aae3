import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { conversation } from '../../src/catalog/conversation/conversation.ts'
import { dictionary } from '../../src/catalog/dictionary.ts'
import { unknownTree } from '../../src/catalog/inspection/unknown-fields.ts'
import { RECORD_TYPES } from '../../src/catalog/records.ts'
import { recordSchema } from '../../src/catalog/schema.ts'
import { recordStruct } from '../../src/catalog/staging.ts'

const golden = (name: string): unknown[] =>
  JSON.parse(readFileSync(join(import.meta.dirname, `../golden/${name}.records.json`), 'utf8')) as unknown[]

describe('the schema of a conversation', () => {
  const schema = recordSchema(conversation)

  it('takes a full record, and gives back every field of it', () => {
    const [full] = golden('full-record')
    expect(schema.parse(full)).toEqual(full)
  })

  it.each(['absent-and-null', 'unknown-fields'])('takes the records of %s', name => {
    for (const record of golden(name)) {
      const element = record as Record<string, unknown>
      // The document knows no null inside a list of strings.
      expect(schema.safeParse({ ...element, linkedChannels: [], handoffHistory: [] }).error).toBeUndefined()
    }
  })

  it.each([
    ['no id', { userName: 'x' }],
    ['an empty id', { ID: '' }],
    ['a text for a number', { ID: 'c', messagesNum: 'many' }],
    ['an object for a list', { ID: 'c', tags: {} }],
    ['a wrong type in an element', { ID: 'c', crmActivities: [{ completed: 'yes' }] }],
  ])('refuses %s', (_what, record) => {
    expect(schema.safeParse(record).success).toBe(false)
  })
})

describe('the staging schema', () => {
  it('adds the unknown paths of a batch as JSON where they lie', () => {
    const fields = {
      csat: conversation.fields.csat!,
      crmActivities: conversation.fields.crmActivities!,
    }
    const struct = recordStruct(fields, unknownTree(['title', 'csat.mood', 'crmActivities[].notesHistory[].pinned']))
    expect(struct).toContain('"title" JSON')
    expect(struct).toContain('"surveyVersion" DOUBLE, "mood" JSON)')
    expect(struct).toContain('"timestamp" VARCHAR, "pinned" JSON, "__extra" JSON)[]')
  })
})

describe('the data dictionary', () => {
  it('is the page that the catalog makes; `npm run docs` writes it anew', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/data-dictionary.md'), 'utf8')
    expect(page).toBe(dictionary(RECORD_TYPES))
  })

  it('describes every column', () => {
    const undescribed = dictionary(RECORD_TYPES)
      .split('\n')
      .filter(line => /\|\s*\|$/.test(line))
    expect(undescribed).toEqual([])
  })
})
