import { describe, expect, it } from 'vitest'
import { conversation } from '../../src/catalog/conversation/conversation.ts'
import { unknownTree } from '../../src/catalog/inspection/unknown-fields.ts'
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
