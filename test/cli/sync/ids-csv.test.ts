import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type NamedConversation, parseIds } from '../../../src/cli/flags/ids-file.ts'

const named = (...all: [agentId: string | null, id: string, line: number][]): NamedConversation[] =>
  all.map(([agentId, id, line]) => ({ agentId, id, line }))

describe('a list of conversations', () => {
  it('has an id or agent,id per line; blank lines and comments are ignored', () => {
    expect(parseIds('\uFEFFone\r\n\n  # no, none\n a , two \n,three')).toEqual(
      named([null, 'one', 1], ['a', 'two', 4], [null, 'three', 5]),
    )
  })

  it.each([
    ['a header', 'agent_id,conversation_id\na,1\n', named(['a', '1', 2])],
    ['a header in another order, and more columns', 'Title,ID,Agent ID\n"x, y",1,a\n', named(['a', '1', 2])],
    ['a header of ids alone', 'convoId\n1\n2', named([null, '1', 2], [null, '2', 3])],
    [
      'quotes',
      '"a","1"\n"b", "say ""2""; and 3"\nc,4',
      named(['a', '1', 1], ['b', 'say "2"; and 3', 2], ['c', '4', 3]),
    ],
    ['an id that contains a separator, in quotes', '"one;more"\ntwo', named([null, 'one;more', 1], [null, 'two', 2])],
    ['an id that looks like a comment, in quotes', '"#1"\n', named([null, '#1', 1])],
    ['nothing', '\uFEFF\n# none\n', []],
    ['a header alone', 'agent,id\n', []],
  ])('is read with %s', (_, content, expected) => {
    expect(parseIds(content)).toEqual(expected)
  })

  it.each([
    ['agent,id\n\na,\n', 'line 3 names no conversation'],
    ['a,1\nb,\n', 'line 2 names no conversation'],
    ['a\n"b,c"', 'line 2 names an id with a comma, with which the API separates ids'],
    ['a,b,c', 'line 1 has 3 columns but no header that names them'],
    ...['agent;id\na;1', 'a\t1', '"one\ntwo"', '"one"two', 'one"two'].map(content => [
      content,
      'line 1 is neither an id nor agent,id: put quotes around ids with ; " or a tab',
    ]),
  ])('is refused if it is %j', (content, why) => {
    expect(() => parseIds(content)).toThrow(expect.objectContaining({ code: 'FLAG_INVALID', message: `${why}.` }))
  })

  it('is read back as it was written, with any ids', () => {
    const text = fc
      .string({ minLength: 1, maxLength: 12, unit: 'binary' })
      .filter(each => each.isWellFormed() && !/[\r\n,]/.test(each))
    const cell = (value: string) => `"${value.replaceAll('"', '""')}"`
    fc.assert(
      fc.property(fc.array(fc.record({ agentId: text, id: text })), fc.constantFrom('\n', '\r\n'), (all, end) => {
        const rows = [['agent_id', 'conversation_id'], ...all.map(({ agentId, id }) => [cell(agentId), cell(id)])]
        const read = parseIds(rows.map(row => row.join(',')).join(end))
        expect(read.map(({ agentId, id }) => ({ agentId, id }))).toEqual(all)
        expect(read.map(({ line }) => line)).toEqual([...read.map(({ line }) => line)].sort((a, b) => a - b))
      }),
    )
  })
})
