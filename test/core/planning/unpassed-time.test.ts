import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { coverAll } from '../../../src/core/planning/coverage.ts'
import { withoutUnpassedTime } from '../../../src/core/planning/unpassed-time.ts'
import { coveredBy } from '../../../src/core/planning/window-progress.ts'
import { newProgress, openWindow, type WindowProgress } from '../../../src/core/planning/windows.ts'

const SETTLE = 120

/** Polls at these times, by the clocks that they read: each window begins at the end of the coverage that the poll knows. */
function polled(polls: readonly { atSec: number; shownSec: number }[]) {
  let windows: WindowProgress[] = []
  const readUntil: { from: number; to: number; atSec: number }[] = []
  for (const { shownSec } of polls) {
    const atSec = polls[readUntil.length]!.atSec
    const exportedSec = Math.max(0, ...readUntil.map(one => (one.from <= one.atSec ? Math.min(one.to, one.atSec) : 0)))
    const certain = { latestMs: shownSec * 1_000, certainSec: exportedSec - SETTLE }
    windows = withoutUnpassedTime(windows, certain)
    const from = (coverAll(windows.flatMap(coveredBy)).at(-1)?.to ?? -1) + 1
    const to = shownSec - SETTLE - 1
    if (from <= to) {
      const window = openWindow({
        agentId: 'a',
        kind: 'head',
        fromSec: from === 0 ? null : from,
        toSec: to,
        openedAtMs: shownSec * 1_000,
      })
      windows.push({ ...newProgress(window), done: true })
    }
    readUntil.push({ from, to, atSec })
  }
  return { windows, readUntil }
}

describe('coverage by a clock that jumps ahead and back', () => {
  it('holds no second that had not passed when it was read, once the clock has been right again', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            waitSec: fc.integer({ min: 60, max: 9_000 }),
            aheadSec: fc.constantFrom(0, 0, 0, 200_000),
          }),
          {
            minLength: 2,
            maxLength: 12,
          },
        ),
        steps => {
          let atSec = 1_000_000
          const polls = steps.map(({ waitSec, aheadSec }) => {
            atSec += waitSec
            return { atSec, shownSec: atSec + aheadSec }
          })
          const right = { atSec: atSec + 60, shownSec: atSec + 60 }
          const { windows, readUntil } = polled([...polls, right])
          // The order of loading does not matter, nor whether the windows of the wrong clock are already in the past.
          const read = withoutUnpassedTime(windows, { latestMs: Number.POSITIVE_INFINITY, certainSec: 0 })
          const covered = coverAll(read.flatMap(coveredBy))
          const trulyRead = coverAll(
            readUntil.map(({ from, to, atSec: readAt }) => ({ from, to: Math.min(to, readAt - SETTLE) })),
          )
          for (const { from, to } of covered)
            expect(trulyRead.some(one => one.from <= from && one.to >= Math.min(to, right.atSec - SETTLE))).toBe(true)
        },
      ),
    )
  })

  it('loses nothing while the clock is right', () => {
    const { windows } = polled(Array.from({ length: 20 }, (_, at) => ({ atSec: at * 600, shownSec: at * 600 })))
    expect(withoutUnpassedTime(windows, { latestMs: 12_000_000, certainSec: 0 })).toEqual(windows)
  })
})
