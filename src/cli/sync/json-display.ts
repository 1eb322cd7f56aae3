// The display for machines: one JSON object per line, the report last.

import type { SyncReport } from '../../../workflows/steps.ts'
import { systemClock } from '../../clock.ts'
import { momentText, SECOND } from '../../core/time.ts'
import { printJsonLine } from '../terminal/print.ts'
import { type Display, type Progress, plannedProgress, startProgress, withNews, withPage } from './progress.ts'
import { exitCodeOfReport } from './report.ts'

const LINE_EVERY_MS = SECOND

const reportJson = (report: SyncReport, { budget, startedMs }: Progress, nowMs: number): object => ({
  ...report,
  budget,
  durationMs: startedMs === null ? null : nowMs - startedMs,
  exitCode: exitCodeOfReport(report),
})

export function jsonDisplay(workspaceId: string): Display {
  let progress: Progress = startProgress(systemClock.now())
  let lastPageMs = 0
  let lastWaiting = ''
  let lastAhead = ''
  let lastEvents = ''
  const emit = (kind: string, facts: object) => printJsonLine({ kind, workspaceId, ...facts })
  return {
    planned(planned) {
      progress = plannedProgress(planned, progress, systemClock.now())
      const { windows, unknown, total } = planned.plan
      emit('planned', { windows: windows.length, unknown, total, budget: progress.budget })
    },
    page(page) {
      const nowMs = systemClock.now()
      progress = withPage(progress, page, nowMs)
      if (nowMs - lastPageMs < LINE_EVERY_MS) return
      lastPageMs = nowMs
      const { pages, conversations, sessions, windowsLeft, budget } = progress
      emit('progress', { pages, conversations, sessions, windowsLeft, budget })
    },
    waits({ run, phase, paused, pages, conversations, windowsLeft }) {
      if (run !== lastAhead) emit('queued', { behind: { run, phase, paused, pages, conversations, windowsLeft } })
      lastAhead = run
    },
    news(news) {
      progress = withNews(progress, news, systemClock.now())
      if (news.kind === 'planning') {
        const { heldUntilMs } = news
        emit('planning', { heldUntil: heldUntilMs === null ? null : momentText(heldUntilMs) })
      }
      if (news.kind === 'failure') {
        const { kind: errorKind, ...failure } = news.failure
        emit('failure', { agentId: news.agentId, errorKind, ...failure })
      }
      if (news.kind === 'events') {
        const { received, waiting, applied } = news
        const facts = { received, waiting, applied }
        if (JSON.stringify(facts) !== lastEvents) emit('events', facts)
        lastEvents = JSON.stringify(facts)
      }
      if (news.kind !== 'waiting') return
      const { untilMs, reason, code } = news
      const facts = { until: momentText(untilMs), reason, ...(code && { code }) }
      if (JSON.stringify(facts) !== lastWaiting) emit('waiting', facts)
      lastWaiting = JSON.stringify(facts)
    },
    note: text => emit('note', { text }),
    report: report => emit('report', reportJson(report, progress, systemClock.now())),
    end() {},
  }
}
