import { describe, expect, it } from 'vitest'
import { conversation } from '../../../src/catalog/conversation/conversation.ts'
import { layoutOf } from '../../../src/catalog/layout.ts'
import { NOT_ANALYZED } from '../../../src/warehouse/load/load.ts'
import { sqlFiles } from '../../../src/warehouse/sql-files.ts'

describe('fields that do not count as a change when a refresh is measured', () => {
  it('are read by no mart and no view, apart from the time of the last change', () => {
    const columns = layoutOf(conversation).columns.filter(({ from }) => from.some(key => NOT_ANALYZED.has(key)))
    expect(columns.map(({ name }) => name).sort()).toEqual(
      ['funnel_last_evaluated', 'is_typing', 'last_modified', 'last_viewed', 'pending_ai_reply_at'].sort(),
    )
    const names = columns.map(({ name }) => name).filter(name => name !== 'last_modified')
    const readers = [...sqlFiles('marts'), ...sqlFiles('views')].flatMap(({ name, sql }) =>
      names.filter(column => sql.includes(column)).map(column => `${name}: ${column}`),
    )
    expect(readers).toEqual([])
  })
})
