// Conversations by index: their entire life, and their state and record at a moment.
import type { ResolvedOptions } from '../options.ts'
import { recordOf, renderDocument } from './conversation/record.ts'
import { recordShape } from './conversation/record-shape.ts'
import { type Channel, channelOf, createScene, type Life, type Scene, type Setting } from './conversation/scene.ts'
import type { Scheduler } from './schedule.ts'
import { aftermathOf, type Exchange, sessionExchanges, storyOf } from './story.ts'

type VisitSpan = (fromMs: number, untilMs: number) => void

export class Lives {
  private readonly options: ResolvedOptions
  private readonly schedule: Scheduler
  private readonly agentIdOf: (index: number) => string
  /** The readings' changes to names and values of a record; undefined if they change nothing. */
  readonly shape: ReturnType<typeof recordShape>

  constructor(options: ResolvedOptions, schedule: Scheduler, agentIdOf: (index: number) => string) {
    this.options = options
    this.schedule = schedule
    this.agentIdOf = agentIdOf
    this.shape = recordShape(options.readings)
  }

  life(index: number): Life {
    const schedule = this.schedule(index)
    return { schedule, story: this.options.traffic ? storyOf(this.options.seed, schedule) : undefined }
  }

  /** The conversation's state; the conversation must have begun by then. */
  scene(index: number, nowMs: number): Scene {
    return createScene(this.setting(index), this.life(index), nowMs)
  }

  /** The record as JSON text; the conversation must have begun by then. */
  render(index: number, nowMs: number): string {
    if (this.shape !== undefined) return JSON.stringify(this.shape(recordOf(this.scene(index, nowMs))))
    return renderDocument(this.setting(index), this.life(index), nowMs)
  }

  channel(index: number): Channel {
    return channelOf(this.options.seed, index)
  }

  /** The exchanges of each session, including future sessions. */
  exchanges({ schedule: { index, sessions }, story }: Life): Exchange[][] {
    if (story !== undefined) return story.courses.map(({ exchanges }) => exchanges)
    return sessions.map((session, number) =>
      sessionExchanges({ seed: this.options.seed, index, session: number }, session),
    )
  }

  /**
   * Calls `visit` for each time span in which something may happen to the conversation. Callers run this for many
   * conversations, so it does less work than `life`. (A generator took a third longer.)
   */
  eachSpan(index: number, visit: VisitSpan): void {
    const schedule = this.schedule(index)
    const { sessions, archivedMs } = schedule
    for (const { startMs, endMs, resolvedMs } of sessions) {
      visit(startMs, endMs)
      if (resolvedMs !== undefined) visit(resolvedMs, resolvedMs)
    }
    if (archivedMs !== undefined) visit(archivedMs, archivedMs)
    if (!this.options.traffic) return
    const { csatMs, noteMs, bugMs } = aftermathOf(this.options.seed, schedule)
    if (csatMs !== undefined) visit(csatMs, csatMs)
    if (bugMs !== undefined) visit(bugMs, bugMs)
    for (const ms of noteMs) visit(ms, ms)
  }

  private setting(index: number): Setting {
    const { seed, ts, tsUnit } = this.options
    return { seed, ts, tsUnit, agentId: this.agentIdOf(index) }
  }
}
