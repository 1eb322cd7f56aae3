// The display on a terminal: a few lines are redrawn in place; the final report is permanent.
import type { Failure } from '../../../workflows/steps.ts'
import { systemClock } from '../../clock.ts'
import type { Board } from '../terminal/board.ts'
import { failureLines } from '../terminal/error-text.ts'
import type { Style } from '../terminal/style.ts'
import {
  type Display,
  type DisplayOptions,
  overProgress,
  type Progress,
  plannedProgress,
  startProgress,
  unreportedFailures,
  withNews,
  withPage,
} from './progress.ts'
import { liveLines } from './progress-text.ts'
import { reportLines } from './report.ts'

/** The display of the workspace `name`, as a section of the board; with `several`, each failure names its workspace. */
export function liveDisplay(
  name: string,
  board: Board,
  { style, several, clock = systemClock }: DisplayOptions & { style: Style },
): Display {
  const fail = (failure: Failure) => board.printAbove(failureLines(failure, style, several ? name : undefined))
  let progress: Progress = startProgress(clock.now())
  let syncs = false
  const show = () => board.show(name, () => liveLines({ name, progress, nowMs: clock.now(), syncs, style }))
  const begin = () => {
    syncs = true
    show()
  }
  const end = () => {
    syncs = false
    board.hide(name)
  }
  return {
    planned(planned) {
      progress = plannedProgress(planned, progress, clock.now())
      begin()
    },
    page(page) {
      progress = withPage(progress, page, clock.now())
    },
    waits(ahead) {
      progress = { ...progress, ahead }
      begin()
    },
    news(news) {
      progress = withNews(progress, news, clock.now())
      if (news.kind === 'planning') begin()
      if (news.kind === 'events') show()
      if (news.kind === 'failure') fail(news.failure)
    },
    note: text => board.printAbove([`${style('cyan', name)}  ${text}`]),
    report(report) {
      const nowMs = clock.now()
      end()
      for (const failure of unreportedFailures(progress, report)) fail(failure)
      board.printAbove(reportLines(name, { report, progress, nowMs }))
      progress = overProgress(progress, nowMs)
    },
    end,
  }
}
