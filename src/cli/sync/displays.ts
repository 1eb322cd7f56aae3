// The displays of a sync: a redrawn board on a terminal, plain lines elsewhere, or JSON lines for machines.
import { agentsOf, finishingText } from '../../../workflows/progress.ts'
import type { SyncReport } from '../../../workflows/steps.ts'
import { type Clock, systemClock } from '../../clock.ts'
import { MINUTE, momentText, SECOND } from '../../core/time.ts'
import { counted, range } from '../../core/words.ts'
import { type Board, boardOnTerminal } from '../terminal/board.ts'
import { errorJson, errorLines, failureLines } from '../terminal/error-text.ts'
import { log, logLines, print, printJsonLine, timestamp } from '../terminal/print.ts'
import { plain, type Style, styleOf } from '../terminal/style.ts'
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
import {
  aheadText,
  doneText,
  eventsText,
  leftText,
  liveLines,
  nothingToRead,
  planningText,
  silenceText,
  waitingText,
} from './progress-text.ts'
import { exitCodeOfReport, reportLines } from './report.ts'

/** The displays of one command. */
export interface Displays {
  /** The display of a workspace. */
  of(workspaceId: string): Display
  /** Logs lines that concern no single workspace. */
  remark(...lines: string[]): void
  /** Prints the error that ended the workspace's sync. */
  failed(workspaceId: string, error: unknown): void
  /** Asks a person one question at a time. The board is not redrawn until the answer. */
  ask<T>(question: () => Promise<T>): Promise<T>
}

/** Asks each question after the previous one is answered. */
function inTurn(): Displays['ask'] {
  let last: Promise<unknown> = Promise.resolve()
  return question => {
    const answer = last.then(question)
    last = answer.catch(() => {})
    return answer
  }
}

/** Chooses the displays. `several`: failures name their workspace. `clock`: that of the syncs; default: the machine's. */
export async function chooseDisplays({ json, several, clock }: DisplayOptions & { json: boolean }): Promise<Displays> {
  const ask = inTurn()
  if (json)
    return {
      of: workspaceId => jsonDisplay(workspaceId),
      remark: log,
      ask,
      failed: (workspaceId, error) => log(JSON.stringify({ at: timestamp(), workspaceId, ...errorJson(error) })),
    }
  const board = await boardOnTerminal()
  const write: Displays['remark'] = board ? (...lines) => board.printAbove(logLines(lines)) : log
  return {
    of: workspaceId => displayOn(board, workspaceId, { several, clock }),
    remark: write,
    failed: (workspaceId, error) =>
      write(...errorLines(error, styleOf(process.stderr), several ? workspaceId : undefined)),
    ask: board ? question => ask(() => board.withoutDrawing(question)) : ask,
  }
}

/** Returns the display of a workspace on the shared board; plain lines if `board` is null. */
export const displayOn = (board: Board | null, workspaceId: string, options: DisplayOptions): Display =>
  board
    ? liveDisplay(workspaceId, board, { style: styleOf(process.stderr), ...options })
    : plainDisplay(workspaceId, options)

/** Shows events. Each function receives the progress that includes the event. */
interface View extends Pick<Display, 'note' | 'end'> {
  planned(planned: Parameters<Display['planned']>[0], progress: Progress): void
  page?(progress: Progress): void
  /** Called once for each sync that this one waits for. */
  waits(ahead: Parameters<Display['waits']>[0]): void
  news(news: Parameters<Display['news']>[0], progress: Progress): void
  /** Shows the report. `failures`: those that have not been shown yet. */
  report(report: SyncReport, progress: Progress, failures: SyncReport['failures']): void
}

/** Returns a display that reduces the events to a progress and shows it through `viewOf`. */
function tracked(viewOf: (progress: () => Progress) => View, { now }: Pick<Clock, 'now'> = systemClock): Display {
  let progress = startProgress(now())
  let lastAhead = ''
  const view = viewOf(() => progress)
  return {
    ...{ note: view.note, end: view.end },
    planned(planned) {
      progress = plannedProgress(planned, progress, now())
      view.planned(planned, progress)
    },
    page(page) {
      progress = withPage(progress, page, now())
      view.page?.(progress)
    },
    waits(ahead) {
      progress = { ...progress, ahead }
      if (ahead.run !== lastAhead) view.waits(ahead)
      lastAhead = ahead.run
    },
    news(news) {
      progress = withNews(progress, news, now())
      view.news(news, progress)
    },
    report(report) {
      view.report(report, progress, unreportedFailures(progress, report))
      progress = overProgress(progress, now())
    },
  }
}

/** Returns the display of the workspace `name`, as a section of the board; with `several`, each failure names its workspace. */
export function liveDisplay(
  name: string,
  board: Board,
  { style, several, clock = systemClock }: DisplayOptions & { style: Style },
): Display {
  let syncs = false
  const view = (progress: () => Progress): View => {
    const show = () =>
      board.show(name, () => liveLines({ name, progress: progress(), nowMs: clock.now(), syncs, style }))
    const begin = () => {
      syncs = true
      show()
    }
    const end = () => {
      syncs = false
      board.hide(name)
    }
    const fail = (failure: Parameters<typeof failureLines>[0]) =>
      board.printAbove(failureLines(failure, style, several ? name : undefined))
    return {
      planned: begin,
      waits: begin,
      news(news) {
        if (news.kind === 'planning') begin()
        if (news.kind === 'events') show()
        if (news.kind === 'failure') fail(news.failure)
      },
      note: text => board.printAbove([`${style('cyan', name)}  ${text}`]),
      report(report, progress, failures) {
        end()
        for (const failure of failures) fail(failure)
        board.printAbove(reportLines(name, { report, progress, nowMs: clock.now() }))
      },
      end,
    }
  }
  return tracked(view, clock)
}

/** Calls `write` if a text differs from the previous one, at most once per `everyMs`. */
function onChange(write: (text: string) => void, { everyMs = 0, now }: { everyMs?: number; now(): number }) {
  let last = { text: '', atMs: Number.NEGATIVE_INFINITY }
  return (text: string) => {
    if (text === last.text || now() - last.atMs < everyMs) return
    last = { text, atMs: now() }
    write(text)
  }
}

const LINE_EVERY_MS = 5 * SECOND
/** Webhook events arrive while the command runs, so their line is written less often. */
const EVENTS_EVERY_MS = MINUTE

/** Writes progress to standard error and the report to standard output. */
function plainDisplay(name: string, { several, clock = systemClock }: DisplayOptions): Display {
  const { now } = clock
  const line = (text: string) => log(`${name}: ${text}`)
  const fail = (failure: Parameters<typeof failureLines>[0]) =>
    log(...failureLines(failure, plain, several ? name : undefined))
  const wait = onChange(line, { now })
  const events = onChange(line, { everyMs: EVENTS_EVERY_MS, now })
  let lastPageMs = now()
  let work = ''
  let finishing: NodeJS.Timeout | undefined
  let silence: NodeJS.Timeout | undefined
  const end = () => {
    for (const timer of [finishing, silence]) clearInterval(timer)
    finishing = undefined
  }
  const view = (current: () => Progress): View => ({
    planned({ plan }, { expected }) {
      clearInterval(silence)
      silence = setInterval(() => {
        const text = silenceText(current(), now())
        if (text) line(text)
      }, MINUTE).unref()
      if (plan.windows.length === 0) return line(nothingToRead(plan))
      const size = expected ? `an estimated ${range(expected)} conversations` : 'of unknown size'
      line(`reading ${counted(plan.windows.length, 'window')} of ${counted(agentsOf(plan), 'agent')}, ${size}`)
    },
    page(progress) {
      if (now() - lastPageMs < LINE_EVERY_MS) return
      lastPageMs = now()
      line(`${doneText(progress, now())} · ${leftText(progress, now())}`)
    },
    waits: ahead => line(aheadText(ahead)),
    news(news, progress) {
      if (progress.planning && news.kind === 'planning') line(planningText(progress.planning, now()))
      if (news.kind === 'failure') fail(news.failure)
      if (news.kind === 'events') events(eventsText(news))
      if (progress.waiting && news.kind === 'waiting') wait(waitingText(progress.waiting, now()))
      // Only the end of a large sync, or a slow vendor's, takes long enough to be shown.
      if (news.kind !== 'finishing') return
      work = finishingText(news)
      finishing ??= setInterval(() => line(`finishing: ${work}`), LINE_EVERY_MS).unref()
    },
    note: line,
    report(report, progress, failures) {
      end()
      for (const failure of failures) fail(failure)
      print(...logLines(reportLines(name, { report, progress, nowMs: now() })))
    },
    end,
  })
  return tracked(view, clock)
}

const PAGE_EVERY_MS = SECOND

/** Writes one JSON object per line, the report last. */
function jsonDisplay(workspaceId: string): Display {
  const { now } = systemClock
  const emit = (kind: string, facts: object) => printJsonLine({ kind, workspaceId, ...facts })
  const waiting = onChange(facts => emit('waiting', JSON.parse(facts)), { now })
  const finishing = onChange(facts => emit('finishing', JSON.parse(facts)), { everyMs: PAGE_EVERY_MS, now })
  const events = onChange(facts => emit('events', JSON.parse(facts)), { now })
  let lastPageMs = 0
  const view: View = {
    planned({ plan: { windows, unknown, total } }, { budget }) {
      emit('planned', { windows: windows.length, unknown, total, budget })
    },
    page({ pages, conversations, sessions, windowsLeft, budget }) {
      if (now() - lastPageMs < PAGE_EVERY_MS) return
      lastPageMs = now()
      emit('progress', { pages, conversations, sessions, windowsLeft, budget })
    },
    waits({ run, phase, paused, pages, conversations, windowsLeft }) {
      emit('queued', { behind: { run, phase, paused, pages, conversations, windowsLeft } })
    },
    news(news) {
      if (news.kind === 'planning')
        emit('planning', { heldUntil: news.heldUntilMs === null ? null : momentText(news.heldUntilMs) })
      if (news.kind === 'failure') {
        const { kind: errorKind, ...failure } = news.failure
        emit('failure', { agentId: news.agentId, errorKind, ...failure })
      }
      if (news.kind === 'events') {
        const { received, waiting, applied } = news
        events(JSON.stringify({ received, waiting, applied }))
      }
      if (news.kind === 'finishing') finishing(JSON.stringify({ work: news.work, left: news.left, name: news.name }))
      if (news.kind === 'waiting') {
        const { untilMs, reason, code } = news
        waiting(JSON.stringify({ until: momentText(untilMs), reason, ...(code && { code }) }))
      }
    },
    note: text => emit('note', { text }),
    report(report, { budget, startedMs }) {
      const durationMs = startedMs === null ? null : now() - startedMs
      emit('report', { ...report, budget, durationMs, exitCode: exitCodeOfReport(report) })
    },
    end() {},
  }
  return tracked(() => view)
}
