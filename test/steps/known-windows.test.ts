import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { coverAll } from '../../src/core/planning/coverage.ts'
import { coveredBy } from '../../src/core/planning/window-progress.ts'
import {
  isById,
  newProgress,
  openWindow,
  WINDOW_KINDS,
  type WindowKind,
  type WindowProgress,
} from '../../src/core/planning/windows.ts'
import { withPending } from '../../src/steps/planning/agent-facts.ts'
import { iso } from '../../src/warehouse/connection.ts'
import { openWarehouse, type Warehouse } from '../../src/warehouse/open.ts'
import { addFinishedWindows, coverageByAgent } from '../../src/warehouse/planning/coverage.ts'
import { openWindows } from '../../src/warehouse/planning/planner-queries.ts'

async function temporary(): Promise<Warehouse> {
  const home = await mkdtemp(join(tmpdir(), 'convohouse-'))
  const warehouse = await openWarehouse({ home, memoryLimit: '500MB', threads: 1 })
  onTestFinished(async () => {
    await warehouse.close()
    await rm(home, { recursive: true })
  })
  return warehouse
}

interface Read {
  agentId: string
  kind: WindowKind
  fromSec: number | null
  length: number
  done: boolean
  /** The range of a missing page, in seconds after the window's start; null if no page is missing. */
  hole: { at: number; length: number } | null
}

const windows: fc.Arbitrary<Read[]> = fc.array(
  fc.record({
    agentId: fc.constantFrom('a', 'b'),
    kind: fc.constantFrom(...WINDOW_KINDS),
    fromSec: fc.oneof(fc.constant(null), fc.integer({ min: 1, max: 60 })),
    length: fc.nat(12),
    done: fc.boolean(),
    hole: fc.option(fc.record({ at: fc.nat(12), length: fc.nat(4) })),
  }),
  { maxLength: 25 },
)

const progressOf = ({ agentId, kind, fromSec, length, done, hole }: Read, index: number): WindowProgress => {
  const [from, to] = [fromSec ?? 0, (fromSec ?? 0) + length]
  return {
    ...newProgress(openWindow({ agentId, kind, fromSec, toSec: to, openedAtMs: index, ids: [] })),
    done,
    ...(hole &&
      hole.at <= length && { holes: [{ from: from + hole.at, to: Math.min(to, from + hole.at + hole.length) }] }),
  }
}

const rowOf = (progress: WindowProgress): string => {
  const { window, done } = progress
  const at = (second: number | null) => (second === null ? 'NULL' : `TIMESTAMPTZ '${iso(second * 1_000)}'`)
  return `('ws', '${window.agentId}', '${window.name}', '${window.kind}', ${at(window.fromSec)}, ${at(window.toSec)},
    TIMESTAMPTZ '${iso(window.openedAtMs)}', ${done}, 1, 0, 0, 0, '${JSON.stringify(progress)}')`
}

const check = readFileSync(new URL('../../sql/checks/covered_is_windows.sql', import.meta.url), 'utf8')

describe('the coverage in the warehouse', () => {
  it('is the union of the finished windows, as by the pure rule', async () => {
    const { writer } = await temporary()
    await fc.assert(
      fc.asyncProperty(windows, async given => {
        const all = given.map(progressOf)
        await writer.run('DELETE FROM _windows')
        await writer.run('DELETE FROM _covered')
        if (all.length > 0) await writer.run(`INSERT INTO _windows VALUES ${all.map(rowOf).join(', ')}`)
        // Seven windows at a time, as consecutive batches add them.
        for (let start = 0; start < all.length; start += 7)
          await addFinishedWindows(writer, 'ws', all.slice(start, start + 7))
        expect(await writer.rows(check)).toEqual([])
        const stored = await coverageByAgent(writer, 'ws')
        for (const agentId of ['a', 'b']) {
          const read = all.filter(({ done, window }) => done && !isById(window.kind) && window.agentId === agentId)
          expect(stored.get(agentId) ?? []).toEqual(coverAll(read.flatMap(coveredBy)))
        }
        const open = await openWindows(writer, 'ws')
        expect(open.map(({ window }) => window.name)).toEqual(
          all.filter(({ done }) => !done).map(({ window }) => window.name),
        )
      }),
      { numRuns: 60 },
    )
  })

  it('belongs to one workspace', async () => {
    const { writer } = await temporary()
    const one = progressOf({ agentId: 'a', kind: 'tail', fromSec: 5, length: 5, done: true, hole: null }, 0)
    await addFinishedWindows(writer, 'ws', [one])
    expect(await coverageByAgent(writer, 'another')).toEqual(new Map())
  })

  it('grows by landed pages that are not loaded yet', () => {
    const half = progressOf({ agentId: 'a', kind: 'head', fromSec: 11, length: 9, done: false, hole: null }, 0)
    const facts = {
      window: half.window,
      generation: 1,
      sequence: 1,
      limit: 100,
      cursorIn: null,
      cursorOut: null,
      hasMore: false,
      returned: 0,
      scanned: 0,
      billed: 0,
      lastTsMs: null,
      missing: [],
    }
    const page = { address: 'p', absolutePath: '/p', head: { facts } as never }
    const known = withPending({ coverage: new Map([['a', [{ from: 0, to: 10 }]]]), open: [half] }, [page], {
      latestMs: Number.POSITIVE_INFINITY,
      settleMs: 0,
    })
    expect(known.coverage.get('a')).toEqual([{ from: 0, to: 20 }])
    expect(known.open).toEqual([])
  })
})
