// The display on a terminal: a few lines that are redrawn in place; what has to stay scrolls away above them.

import type { WriteStream } from 'node:tty'
import { createLogUpdate } from 'log-update'
import { systemClock } from '../../clock.ts'
import { failureLines } from '../failure/failure-text.ts'
import { styleOf } from '../terminal/style.ts'
import { type Display, type Progress, plannedProgress, startProgress, withNews, withPage } from './progress.ts'
import { liveLines } from './progress-text.ts'
import { reportLines } from './report-text.ts'

const REDRAW_EVERY_MS = 200

/** Draws on that terminal from the plan to the report, which is left standing. */
export function liveDisplay(name: string, to: WriteStream): Display {
  const draw = createLogUpdate(to)
  const style = styleOf(to)
  let progress: Progress = startProgress(systemClock.now())
  let timer: NodeJS.Timeout | undefined
  const redraw = () => draw(liveLines(name, progress, systemClock.now(), style).join('\n'))
  const stay = (lines: string[]) => {
    draw.clear()
    to.write(`${lines.join('\n')}\n`)
    if (timer) redraw()
  }
  const rest = () => {
    clearInterval(timer)
    timer = undefined
    draw.clear()
  }
  return {
    planned(planned) {
      progress = plannedProgress(planned, systemClock.now())
      timer ??= setInterval(redraw, REDRAW_EVERY_MS).unref()
      redraw()
    },
    page(page) {
      progress = withPage(progress, page, systemClock.now())
    },
    news(news) {
      progress = withNews(progress, news, systemClock.now())
      if (news.kind === 'failure') stay(failureLines(news.failure, style))
    },
    note: text => stay([text]),
    report(report) {
      rest()
      stay(reportLines(name, { report, progress, nowMs: systemClock.now() }))
    },
    end() {
      rest()
      // Shows the cursor again.
      draw.done()
    },
  }
}
