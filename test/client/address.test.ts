import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exportTarget, readApiAddress } from '../../src/client/address.ts'

describe('an API address', () => {
  it.each([
    ['https://api.example.com', ''],
    ['https://api.example.com/', ''],
    ['https://api.example.com/v3', ''],
    ['https://api.example.com/v3/', ''],
    ['https://api.example.com/eu/agents', '/eu/agents'],
    ['https://api.example.com/eu//v3//', '/eu'],
    ['https://api.example.com/eu/xv3', '/eu/xv3'],
  ])('is read from %s', (url, prefix) => {
    expect(readApiAddress(url)).toEqual({ origin: 'https://api.example.com', prefix })
  })

  it.each(['', 'api.example.com', 'ftp://a', 'https://me:canary@a', 'https://a/?key=canary', 'https://a/#canary'])(
    'is refused without being shown: %s',
    url => {
      expect(() => readApiAddress(url)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
      expect(() => readApiAddress(url)).not.toThrow(/canary/)
    },
  )
})

describe('the target of an export', () => {
  const address = readApiAddress('https://a.example/base')

  it('decodes to the same agent, cursor and ids', () => {
    const id = fc.string({ minLength: 1, unit: 'grapheme' }).filter(text => !/^\.{1,2}$/.test(text))
    const convoIds = fc.array(
      id.filter(text => !text.includes(',')),
      { minLength: 1 },
    )
    fc.assert(
      fc.property(id, id, convoIds, (agentId, cursor, ids) => {
        const { sent } = exportTarget({ address, agentId, query: { cursor, convoIds: ids } })
        const url = new URL(sent, address.origin)
        expect(decodeURIComponent(url.pathname.split('/')[4]!)).toBe(agentId)
        expect(url.searchParams.get('cursor')).toBe(cursor)
        expect(url.searchParams.get('convoIds')?.split(',')).toEqual(ids)
      }),
    )
  })

  it('shows neither cursor nor ids', () => {
    const query = { limit: 5, cursor: 'canary', convoIds: ['canary', 'canary'] }
    expect(exportTarget({ address, agentId: 'a1', query }).shown).toBe(
      'GET /base/v3/agents/a1/convos/export?limit=5&cursor=…&convoIds=…(2)',
    )
  })

  it.each(['', '.', '..'])('is refused for the agent "%s", which would change the path', agentId => {
    expect(() => exportTarget({ address, agentId, query: {} })).toThrow(
      expect.objectContaining({ code: 'AGENT_UNKNOWN' }),
    )
  })

  it.each([[[]], [['a', '']], [['a,b']]])('is refused for ids that would select something else: %j', convoIds => {
    expect(() => exportTarget({ address, agentId: 'a1', query: { convoIds } })).toThrow(
      expect.objectContaining({ code: 'FLAG_INVALID' }),
    )
  })
})
