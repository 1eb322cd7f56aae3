// The display without a terminal: few, plain lines.

import type { Writable } from 'node:stream'
import { agentsOf } from '../../../workflows/progress.ts'
import type { Failure } from '../../../workflows/steps.ts'
import { systemClock } from '../../clock.ts'
import { MINUTE, SECOND } from '../../core/time.ts'
import { counted, range } from '../../core/words.ts'
import { failureLines } from '../terminal/error-text.ts'
import { logLines } from '../terminal/print.ts'
import { plain } from '../terminal/style.ts'
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
import { aheadText, doneText, eventsText, leftText, nothingToRead, planningText, waitingText } from './progress-text.ts'
import { reportLines } from './report.ts'

const LINE_EVERY_MS = 5 * SECOND
/** Webhook events arrive as long as the command runs, so their line is written less often. */
const EVENTS_EVERY_MS = MINUTE

/** Writes progress to `to` and the report to `result`; with `several`, each failure names its workspace. */
export function plainDisplay(
  name: string,
  { to, result, several, clock = systemClock }: DisplayOptions & { to: Writable; result: Writable },
): Display {
  let progress: Progress = startProgress(clock.now())
  let lastPageMs = clock.now()
  let lastWaiting = ''
  let lastAhead = ''
  let lastEvents = { text: '', atMs: Number.NEGATIVE_INFINITY }
  const write = (lines: readonly string[], where = to) => where.write(`${logLines(lines).join('\n')}\n`)
  const line = (text: string) => write([`${name}: ${text}`])
  const fail = (failure: Failure) => write(failureLines(failure, plain, several ? name : undefined))
  const wait = (text: string) => {
    if (text !== lastWaiting) line(text)
    lastWaiting = text
  }
  const writeEvents = (text: string, nowMs: number) => {
    if (text === lastEvents.text || nowMs - lastEvents.atMs < EVENTS_EVERY_MS) return
    lastEvents = { text, atMs: nowMs }
    line(text)
  }
  return {
    planned(planned) {
      const { plan } = planned
      progress = plannedProgress(planned, progress, clock.now())
      const size = progress.expected ? `an estimated ${range(progress.expected)} conversations` : 'of unknown size'
      line(
        plan.windows.length === 0
          ? nothingToRead(plan)
          : `reading ${counted(plan.windows.length, 'window')} of ${counted(agentsOf(plan), 'agent')}, ${size}`,
      )
    },
    page(page) {
      const nowMs = clock.now()
      progress = withPage(progress, page, nowMs)
      if (nowMs - lastPageMs < LINE_EVERY_MS) return
      lastPageMs = nowMs
      line(`${doneText(progress, nowMs)} · ${leftText(progress, nowMs)}`)
    },
    waits(ahead) {
      if (ahead.run !== lastAhead) line(aheadText(ahead, clock.now()))
      lastAhead = ahead.run
    },
    news(news) {
      const nowMs = clock.now()
      progress = withNews(progress, news, nowMs)
      if (news.kind === 'planning' && progress.planning) line(planningText(progress.planning, nowMs))
      if (news.kind === 'failure') fail(news.failure)
      if (news.kind === 'events') writeEvents(eventsText(news), nowMs)
      if (news.kind === 'waiting' && progress.waiting) wait(waitingText(progress.waiting, nowMs))
    },
    note: line,
    report: report => {
      const nowMs = clock.now()
      for (const failure of unreportedFailures(progress, report)) fail(failure)
      write(reportLines(name, { report, progress, nowMs }), result)
      progress = overProgress(progress, nowMs)
    },
    end() {},
  }
}
