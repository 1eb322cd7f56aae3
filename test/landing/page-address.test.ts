import { posix } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { pageAddress, parsePageName, streamFolder } from '../../src/landing/page-address.ts'
import { oddIds } from '../files/odd-ids.ts'
import { placeOf } from './page-heads.ts'

describe('the path of a page', () => {
  it('contains stream, agent, month, window, generation and sequence', () => {
    const place = placeOf({ window: '20261120T204946123Z-tail-start-1732000000', sequence: 7 })
    expect(pageAddress('ws_demo', place)).toBe(
      'ws_demo/conversations/agent-1/2026-11/20261120T204946123Z-tail-start-1732000000.g01.p000007.json.gz',
    )
    expect(
      pageAddress('ws_demo', placeOf({ stream: 'agents', agentId: null, window: '20261120T204946123Z-all' })),
    ).toBe('ws_demo/agents/2026-11/20261120T204946123Z-all.g01.p000001.json.gz')
  })

  it('never leaves the folder of its workspace and stream', () => {
    fc.assert(
      fc.property(oddIds, oddIds, (workspaceId, agentId) => {
        const path = pageAddress(workspaceId, placeOf({ agentId }))
        expect(path.split('/')).toHaveLength(5)
        expect(path.startsWith(`${streamFolder(workspaceId, 'conversations', agentId)}/`)).toBe(true)
      }),
    )
  })

  it('is parsed back into window, generation and sequence', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 2_000_000 }), (generation, sequence) => {
        const place = placeOf({ generation, sequence })
        const name = posix.basename(pageAddress('ws', place))
        expect(parsePageName(name)).toEqual({ window: place.window, generation, sequence })
      }),
    )
  })

  it.each(['.tmp-12-abc', 'notes.txt', 'x.g01.json.gz', 'x.g01.p000001.json', '.g01.p000001.json.gz'])(
    'does not have the form of %s',
    name => expect(parsePageName(name)).toBeNull(),
  )
})
