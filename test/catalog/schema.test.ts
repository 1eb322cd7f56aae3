import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { conversation } from '../../src/catalog/conversation/conversation.ts'
import { dictionary } from '../../src/catalog/dictionary.ts'
import { unknownTree } from '../../src/catalog/inspection/unknown-fields.ts'
import { RECORD_TYPES } from '../../src/catalog/records.ts'
import { recordStruct } from '../../src/catalog/staging.ts'

describe('the staging schema', () => {
  it('contains the unknown paths of a batch as JSON, in place', () => {
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
  it('is the page generated from the catalog (`npm run docs`)', () => {
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
