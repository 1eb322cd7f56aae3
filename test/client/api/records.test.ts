// Compares the type of a conversation with the fields of the API document.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../import-graph.ts'

const read = (path: string): string => readFileSync(join(root, path), 'utf8')

describe('the type of a conversation', () => {
  it('has every field of section 2.10', () => {
    const { conversation } = JSON.parse(read('test/catalog/api-v3-fields.json')) as { conversation: object }
    const type = read('src/client/api/records/conversation.ts')
    const names = Object.keys(conversation).map(path => path.split('.').at(-1)!.replace('[]', ''))
    expect(names.filter(name => !new RegExp(`'${name}'|readonly ${name}\\??:`).test(type))).toEqual([])
  })
})
