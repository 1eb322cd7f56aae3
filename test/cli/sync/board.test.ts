import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it } from 'vitest'
import { liveDisplay } from '../../../src/cli/sync/displays.ts'
import { boardOn, fitting } from '../../../src/cli/terminal/board.ts'
import { plain } from '../../../src/cli/terminal/style.ts'
import { newGovernor } from '../../../src/core/governor/governor.ts'
import { NO_OUTLOOK } from '../../../src/core/planning/estimate.ts'
import { emptyReport } from '../../../workflows/report.ts'
import type { SyncReport } from '../../../workflows/steps.ts'

describe('a board', () => {
  const sections = [['a', 'more of a'], ['b', 'more of b'], ['c']]

  it('shows all lines if they fit, else the first of each section, else those of a few sections', () => {
    expect(fitting(sections, 6)).toEqual(['a', 'more of a', 'b', 'more of b', 'c'])
    expect(fitting(sections, 5)).toEqual(['a', 'b', 'c'])
    expect(fitting(sections, 3)).toEqual(['a', '… and 2 more'])
    expect(fitting([], 3)).toEqual([])
  })
})

describe('displays that share a board', () => {
  const estimate = { conversations: { low: 0, high: 0 }, sessions: { low: 0, high: 0 }, requests: { low: 0, high: 0 } }
  const plan = {
    windows: [],
    total: estimate,
    unknown: 0,
    firstBackfills: 0,
    outlook: NO_OUTLOOK,
  }
  const planned = { plan, governor: newGovernor() }
  const report: SyncReport = { ...emptyReport('r'), requests: 1, pages: 1, conversations: 7, windowsDone: 1 }

  async function screen() {
    const stream = Object.assign(new PassThrough(), { columns: 80, rows: 24 })
    /** Returns the output since the last call. */
    const written = () => stripVTControlCharacters(String(stream.read() ?? ''))
    return { board: await boardOn(stream), written }
  }

  it('are drawn one below the other until each has reported', async () => {
    const { board, written } = await screen()
    const [one, two] = ['ws_one', 'ws_two'].map(name => liveDisplay(name, board, { style: plain, several: true }))
    one!.planned(planned)
    two!.planned(planned)
    expect(written()).toMatch(/ws_one {2}0 pages.*left this hour.*ws_two {2}0 pages.*left this hour/s)
    one!.report(report)
    const after = written()
    expect(after).toMatch(/ws_one: up to date/)
    expect(after.slice(after.indexOf('up to date'))).toContain('ws_two  0 pages')
    one!.news({ kind: 'events', received: 2, waiting: 0, applied: 2 })
    expect(written()).toMatch(/^ws_one {2}2 events received, 0 waiting, 2 applied$/m)
    one!.end()
    two!.note('next sync at 12:00')
    expect(written()).toMatch(/ws_two {2}next sync at 12:00\n.*ws_two {2}0 pages/s)
    two!.end()
    written()
    one!.note('next sync at 12:00')
    expect(written()).toBe('ws_one  next sync at 12:00\n')
  })
})
