import { describe, expect, it } from 'vitest'
import type { SandboxOptions } from '../../../src/sandbox/options.ts'
import { DAY, exportAll, exportable, firstAgent, idsOf, open, START_MS } from '../caller.ts'

const small: Partial<SandboxOptions> = { conversations: 400, agents: 1 }

/** Bounds, in seconds, of `count` adjacent windows that cover the whole history: from 91 days before the start to the start. */
function tiles(count: number): { from: number; to: number }[] {
  const startS = Math.floor((START_MS - 91 * DAY) / 1_000)
  const widthS = Math.ceil((91 * DAY) / 1_000 / count)
  return Array.from({ length: count }, (_, place) => ({
    from: startS + place * widthS,
    to: startS + (place + 1) * widthS - 1,
  }))
}

describe('adjacent windows', () => {
  it.each([
    ['seconds', (bound: number) => bound, (bound: number) => bound],
    ['milliseconds', (bound: number) => bound * 1_000, (bound: number) => bound * 1_000 + 999],
  ])('return each conversation with a ts once, in %s', async (_, fromOf, toOf) => {
    const sandbox = await open(small)
    const agentId = firstAgent(sandbox)
    const ids: string[] = []
    for (const { from, to } of tiles(9)) {
      ids.push(
        ...idsOf(await exportAll(sandbox, agentId, { fromTs: fromOf(from), toTs: toOf(to), sort: 'asc', limit: 50 })),
      )
    }
    const dated = exportable(sandbox, agentId).filter(({ document }) => document.ts !== undefined)
    expect(ids.toSorted()).toEqual(dated.map(({ id }) => id).toSorted())
  })
})

describe('the bounds of a window', () => {
  it('are inclusive at both ends, to the millisecond', async () => {
    const sandbox = await open(small)
    const agentId = firstAgent(sandbox)
    const { id, document } = exportable(sandbox, agentId).find(({ document }) => document.ts !== undefined)!
    const ts = Number(document.ts)
    expect(idsOf(await exportAll(sandbox, agentId, { fromTs: ts, toTs: ts }))).toContain(id)
    expect(idsOf(await exportAll(sandbox, agentId, { fromTs: ts + 1, toTs: ts + 10 }))).not.toContain(id)
    expect(idsOf(await exportAll(sandbox, agentId, { fromTs: ts - 10, toTs: ts - 1 }))).not.toContain(id)
  })

  it('cover the entire second if they are in seconds', async () => {
    const sandbox = await open(small)
    const agentId = firstAgent(sandbox)
    const truth = exportable(sandbox, agentId).find(({ document }) => Number(document.ts) % 1_000 > 0)!
    const second = Math.floor(Number(truth.document.ts) / 1_000)
    expect(idsOf(await exportAll(sandbox, agentId, { fromTs: second, toTs: second }))).toContain(truth.id)
  })

  it('exclude conversations without ts if there is a start, and include them otherwise', async () => {
    const sandbox = await open({ conversations: 1_000, agents: 1 })
    const agentId = firstAgent(sandbox)
    const undated = exportable(sandbox, agentId).filter(({ document }) => document.ts === undefined)
    expect(undated.length).toBeGreaterThan(0)
    const early = Math.floor((START_MS - 91 * DAY) / 1_000)
    const before = idsOf(await exportAll(sandbox, agentId, { toTs: early, limit: 100 }))
    expect(before.toSorted()).toEqual(undated.map(({ id }) => id).toSorted())
    const from = idsOf(await exportAll(sandbox, agentId, { fromTs: early, sort: 'asc', limit: 100 }))
    expect(from).not.toContain(undated[0]!.id)
  })

  it.each(['yesterday', '-5', '1.5', '999999999999999'])('of %j are refused', async fromTs => {
    const sandbox = await open(small)
    await expect(exportAll(sandbox, firstAgent(sandbox), { fromTs })).rejects.toThrow(
      /^400 .*fromTs must be unix seconds/,
    )
  })
})
