// Conversations by index: their entire life, and their state and record at a moment.
import type { ResolvedOptions } from '../options.ts'
import { renderDocument } from './conversation/record.ts'
import { type Channel, channelOf, createScene, type Scene } from './conversation/scene.ts'
import type { Scheduler } from './schedule.ts'
import { coarseMomentsOf, type Life, lifeOf, momentsOf } from './story.ts'

/** Exceeds the number of moments of any life: four sessions with seven each, archiving, a rating and three notes. */
const VERSIONS = 40

export class Lives {
  private readonly options: ResolvedOptions
  private readonly schedule: Scheduler

  constructor(options: ResolvedOptions, schedule: Scheduler) {
    this.options = options
    this.schedule = schedule
  }

  life(index: number): Life {
    return lifeOf(this.options.seed, this.schedule(index))
  }

  /** Returns the conversation's state; the conversation must have begun by then. */
  scene(index: number, nowMs: number): Scene {
    return createScene(this.options, this.life(index), nowMs)
  }

  /** Renders the record as JSON text; the conversation must have begun by then. */
  render(index: number, nowMs: number): string {
    return renderDocument(this.scene(index, nowMs))
  }

  /** Returns a key of the record's state: the keys of two times are equal exactly if the record is the same at both. */
  stateKey(index: number, nowMs: number): number {
    return index * VERSIONS + momentsOf(this.life(index)).filter(ms => ms <= nowMs).length
  }

  channel(index: number): Channel {
    return channelOf(this.options.seed, index)
  }

  /** Returns a time in each hour in which something happens to the conversation. */
  coarseMoments(index: number): number[] {
    return coarseMomentsOf(this.options.seed, this.schedule(index))
  }
}
