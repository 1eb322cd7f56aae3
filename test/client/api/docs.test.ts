// The documentation and the types of the client, compared with its declarations and with the fields of the API document.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { idsIn, OPERATIONS, type Operation } from '../../../src/client/api/operations.ts'
import { root } from '../../import-graph.ts'

const read = (path: string): string => readFileSync(join(root, path), 'utf8')

const argumentsOf = (operation: Operation): string[] => [
  ...idsIn(operation),
  ...(operation.body === null ? [] : [operation.body]),
  ...Object.keys(operation.query),
]

describe('docs/api-client.md', () => {
  const rows = [...read('docs/api-client.md').matchAll(/^\| `(\w+)` \| (4\.\d+) \| (.*?) \| (.*?) ?\|$/gm)]

  it('has each operation with its section, arguments and records', () => {
    const documented = rows.map(([, name, section, given]) => [
      name,
      section,
      [...given!.matchAll(/`(\w+)`/g)].map(m => m[1]),
    ])
    expect(documented).toEqual(OPERATIONS.map(operation => [operation.name, operation.section, argumentsOf(operation)]))
    for (const [index, [, , , , answer]] of rows.entries())
      for (const key of Object.keys(OPERATIONS[index]!.envelope)) expect(answer).toContain(`\`${key}\``)
  })
})

describe('the type of a conversation', () => {
  it('has every field of section 2.10', () => {
    const { conversation } = JSON.parse(read('test/catalog/api-v3-fields.json')) as { conversation: object }
    const type = read('src/client/api/records/conversation.ts')
    const names = Object.keys(conversation).map(path => path.split('.').at(-1)!.replace('[]', ''))
    expect(names.filter(name => !new RegExp(`'${name}'|readonly ${name}\\??:`).test(type))).toEqual([])
  })
})
