import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeList, type NamedConversation, parseIds } from '../../../src/cli/flags/ids-file.ts'

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
    ['semicolons', 'agent;id\na;1\n', named(['a', '1', 2])],
    ['semicolons without a header', 'a;1\nb;2', named(['a', '1', 1], ['b', '2', 2])],
    ['tabs', 'a\t1\r\nb\t2\r\n', named(['a', '1', 1], ['b', '2', 2])],
    ['a declared separator', 'sep=;\r\nagent;id\r\na;1\r\n', named(['a', '1', 3])],
    [
      'quotes',
      '"a","1"\n"b", "say ""2"", and\n3"\nc,4',
      named(['a', '1', 1], ['b', 'say "2", and\n3', 2], ['c', '4', 4]),
    ],
    ['empty columns and rows at the end', 'a,1,,\n,,,\nb,2', named(['a', '1', 1], ['b', '2', 3])],
    ['an id that contains a separator', 'one;more\ntwo', named([null, 'one;more', 1], [null, 'two', 2])],
    ['an id that looks like a comment, in quotes', '"#1"\n', named([null, '#1', 1])],
    ['the line breaks of old Macs', 'a,1\rb,2', named(['a', '1', 1], ['b', '2', 2])],
    ['nothing', '\uFEFF\n# none\n', []],
    ['a header alone', 'agent,id\n', []],
  ])('is read with %s', (_, content, expected) => {
    expect(parseIds(content)).toEqual(expected)
  })

  it.each([
    ['agent,id\n\na,\n', 'line 3 names no conversation'],
    ['a,1\nb,\n', 'line 2 names no conversation'],
    ['a,b,c', 'line 1 has 3 columns but no header that names them'],
    ['one\n"two\nthree', 'line 2 has an unclosed quote'],
    ['"one"two', 'line 1 has text after a closing quote'],
  ])('is refused if it is %j', (content, why) => {
    expect(() => parseIds(content)).toThrow(expect.objectContaining({ code: 'FLAG_INVALID', message: `${why}.` }))
  })

  it('may have any encoding that spreadsheets write', () => {
    const text = '\uFEFFagent\tid\r\nä\t1\r\n'
    const utf16 = Buffer.from(text, 'utf16le')
    for (const bytes of [Buffer.from(text), utf16, Buffer.from(utf16).swap16()])
      expect(parseIds(decodeList(bytes))).toEqual(named(['ä', '1', 2]))
  })

  it('is read back as it was written, with any ids', () => {
    const text = fc.string({ minLength: 1, maxLength: 12, unit: 'binary' }).filter(each => each.isWellFormed())
    const separators = fc.constantFrom(',', ';', '\t')
    const cell = (value: string) => `"${value.replaceAll('"', '""')}"`
    fc.assert(
      fc.property(
        fc.array(fc.record({ agentId: text, id: text })),
        separators,
        fc.constantFrom('\n', '\r\n'),
        (all, separator, end) => {
          const rows = [['agent_id', 'conversation_id'], ...all.map(({ agentId, id }) => [cell(agentId), cell(id)])]
          const read = parseIds(rows.map(row => row.join(separator)).join(end))
          expect(read.map(({ agentId, id }) => ({ agentId, id }))).toEqual(all)
          expect(read.map(({ line }) => line)).toEqual([...read.map(({ line }) => line)].sort((a, b) => a - b))
        },
      ),
    )
  })

  it('of plain words is read back without quotes or a header', () => {
    const word = fc.stringMatching(/^[\w-]{1,12}$/).filter(each => !/^(conv|id)/i.test(each.replace(/[_-]/g, '')))
    fc.assert(
      fc.property(fc.array(fc.record({ agentId: fc.option(word), id: word })), all => {
        const content = all.map(({ agentId, id }) => (agentId === null ? id : `${agentId},${id}`)).join('\n')
        expect(parseIds(content)).toEqual(all.map((one, index) => ({ ...one, line: index + 1 })))
      }),
    )
  })
})
