// The display for machines: one JSON object per line, the report last.

import type { SyncReport } from '../../../workflows/steps.ts'
import { systemClock } from '../../clock.ts'
import { momentText, SECOND } from '../../core/time.ts'
import { printJsonLine } from '../terminal/print.ts'
import { exitCodeOfReport } from './exit-code.ts'
import { type Display, type Progress, plannedProgress, startProgress, withNews, withPage } from './progress.ts'

const LINE_EVERY_MS = SECOND

const reportJson = (report: SyncReport, { budget, startedMs }: Progress, nowMs: number): object => ({
  ...report,
  budget,
  durationMs: startedMs === null ? null : nowMs - startedMs,
  exitCode: exitCodeOfReport(report),
})

export function jsonDisplay(workspaceId: string): Display {
  let progress: Progress = startProgress(systemClock.now())
  let toldMs = 0
  let toldWaiting = ''
  let toldAhead = ''
  let toldEvents = ''
  const tell = (kind: string, facts: object) => printJsonLine({ kind, workspaceId, ...facts })
  return {
    planned(planned) {
      progress = plannedProgress(planned, progress, systemClock.now())
      const { windows, unknown, total } = planned.plan
      tell('planned', { windows: windows.length, unknown, total, budget: progress.budget })
    },
    page(page) {
      const nowMs = systemClock.now()
      progress = withPage(progress, page, nowMs)
      if (nowMs - toldMs < LINE_EVERY_MS) return
      toldMs = nowMs
      const { pages, conversations, sessions, windowsLeft, budget } = progress
      tell('progress', { pages, conversations, sessions, windowsLeft, budget })
    },
    waits({ run, phase, paused, pages, conversations, windowsLeft }) {
      if (run !== toldAhead) tell('queued', { behind: { run, phase, paused, pages, conversations, windowsLeft } })
      toldAhead = run
    },
    news(news) {
      progress = withNews(progress, news, systemClock.now())
      if (news.kind === 'planning') {
        const { heldUntilMs } = news
        tell('planning', { heldUntil: heldUntilMs === null ? null : momentText(heldUntilMs) })
      }
      if (news.kind === 'failure') {
        const { kind: errorKind, ...failure } = news.failure
        tell('failure', { agentId: news.agentId, errorKind, ...failure })
      }
      if (news.kind === 'events') {
        const { received, waiting, applied } = news
        const facts = { received, waiting, applied }
        if (JSON.stringify(facts) !== toldEvents) tell('events', facts)
        toldEvents = JSON.stringify(facts)
      }
      if (news.kind !== 'waiting') return
      const { untilMs, reason, code } = news
      const facts = { until: momentText(untilMs), reason, ...(code && { code }) }
      if (JSON.stringify(facts) !== toldWaiting) tell('waiting', facts)
      toldWaiting = JSON.stringify(facts)
    },
    note: text => tell('note', { text }),
    report: report => tell('report', reportJson(report, progress, systemClock.now())),
    end() {},
  }
}
