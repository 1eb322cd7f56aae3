import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { conversation } from '../../src/catalog/conversation/conversation.ts'
import { layoutOf } from '../../src/catalog/layout.ts'
import { agent } from '../../src/catalog/resources/agents.ts'
import { fieldPaths } from './field-paths.ts'

/**
 * Fields transcribed from sections 2.10 and 2.12 of the API document, not from the catalog. The type `unstated` means
 * that the document states no type or shows only an example value.
 */
const documented = JSON.parse(readFileSync(join(import.meta.dirname, 'api-v3-fields.json'), 'utf8')) as {
  conversation: Record<string, string>
  agentAtLeast: string[]
  childTables: Record<string, string[]>
}

describe('the conversation record', () => {
  // `channel` is the only field that occurs in events and not in exports.
  const { channel, ...declared } = fieldPaths(conversation.fields)

  it('declares every field of section 2.10, plus those that only events have', () => {
    expect(channel).toBe('string')
    expect(Object.keys(declared).sort()).toEqual(Object.keys(documented.conversation).sort())
  })

  it('declares each field with the type that the document states', () => {
    const stated = Object.entries(documented.conversation).filter(([, type]) => type !== 'unstated')
    expect(Object.fromEntries(stated.map(([path]) => [path, declared[path]]))).toEqual(Object.fromEntries(stated))
  })

  it('has a child table for each documented array and object of section 2.10', () => {
    const derived = layoutOf(conversation).children.map(({ table, columns }) => {
      const paths = columns.flatMap(column => (column.path === null ? [] : [column.path]))
      return [table, paths] as const
    })
    expect(derived.map(([table]) => table).sort()).toEqual(Object.keys(documented.childTables).sort())
    for (const [table, paths] of derived) {
      const [first, ...more] = documented.childTables[table]!
      if (more.length > 0) expect(paths, table).toEqual([first, ...more])
      else
        expect(
          paths.every(path => path.startsWith(first!)),
          `${table}: ${paths}`,
        ).toBe(true)
    }
  })

  it('has a column for every scalar path outside of lists', () => {
    const columns = layoutOf(conversation).columns.flatMap(column => (column.path === null ? [] : [column.path]))
    const wanted = Object.entries(documented.conversation).filter(
      ([path, type]) => !path.includes('[]') && !/^(object|array of)/.test(type) && path !== 'ID',
    )
    expect([...new Set(columns)].sort()).toEqual([...wanted.map(([path]) => path), 'channel'].sort())
  })

  it('marks every field that may contain personal data', () => {
    const personal = layoutOf(conversation).columns.filter(column =>
      /email|phone|name$|address|ip_address|image|picture|profile|handle|note|comment|summary/.test(column.name),
    )
    const unmarked = personal.filter(column => column.pii === 'none').map(column => column.name)
    // This id and this phone number belong to the business itself, not to a person.
    expect(unmarked).toEqual(['whatsapp_phone_number_id', 'whatsapp_display_phone_number'])
  })
})

describe('the agent record', () => {
  it('types the identity, status and limits of section 2.12', () => {
    const declared = Object.keys(fieldPaths(agent.fields))
    expect(documented.agentAtLeast.filter(path => !declared.includes(path))).toEqual([])
  })

  it('has no column for a secret', () => {
    const secrets = Object.keys(fieldPaths(agent.fields)).filter(path => /secret|token|api_?key|password/i.test(path))
    expect(secrets).toEqual([])
  })
})
