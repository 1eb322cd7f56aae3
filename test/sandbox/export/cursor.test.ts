import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeCursor, encodeCursor } from '../../../src/sandbox/routes/export-page.ts'
import { exportPage, exportPath, firstAgent, open, refusal, START_MS } from '../caller.ts'

const scope = fc.record({
  seed: fc.nat(3),
  agentId: fc.constantFrom('a', 'b'),
  sort: fc.constantFrom('asc' as const, 'desc' as const),
  fromMs: fc.nat(3),
  toMs: fc.oneof(fc.nat(3), fc.constant(Number.POSITIVE_INFINITY)),
})
const place = fc.record({ ts: fc.nat(START_MS), index: fc.nat(8_000_000) })
const bookmark = fc.record({ after: fc.option(place, { nil: undefined }), stays: fc.nat(1_000) })

describe('a cursor', () => {
  it('is valid for its own query and no other', () => {
    fc.assert(
      fc.property(bookmark, scope, scope, (at, own, other) => {
        const cursor = encodeCursor(at, own)
        expect(decodeCursor(cursor, own)).toEqual(at)
        const same = JSON.stringify([own, String(own.toMs)]) === JSON.stringify([other, String(other.toMs)])
        expect(decodeCursor(cursor, other)).toEqual(same ? at : undefined)
      }),
    )
  })

  it('is refused with another sort, another range or another agent', async () => {
    const sandbox = await open()
    const [agentId, otherAgent] = sandbox.world.agentIds() as [string, string]
    const fromTs = START_MS - 80 * 86_400_000
    const { nextCursor } = await exportPage(sandbox, agentId, { sort: 'asc', fromTs })
    const cursor = String(nextCursor)
    const strangers = [
      exportPath(agentId, { sort: 'desc', fromTs, cursor }),
      exportPath(agentId, { sort: 'asc', fromTs: fromTs + 1, cursor }),
      exportPath(agentId, { sort: 'asc', fromTs, toTs: START_MS, cursor }),
      exportPath(otherAgent, { sort: 'asc', fromTs, cursor }),
      exportPath(agentId, { sort: 'asc', fromTs, cursor: 'bm8gY3Vyc29y' }),
      exportPath(agentId, { sort: 'asc', fromTs, cursor: `${cursor}!` }),
    ]
    for (const path of strangers) {
      expect(await refusal(sandbox, path)).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST' } })
    }
  })

  it('is accepted with another limit', async () => {
    const sandbox = await open()
    const { nextCursor } = await exportPage(sandbox, firstAgent(sandbox), { limit: 10 })
    const page = await exportPage(sandbox, firstAgent(sandbox), { limit: 3, cursor: String(nextCursor) })
    expect(page.scannedConvoCount).toBe(3)
  })
})
