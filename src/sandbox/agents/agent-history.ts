// How agents change where traffic is asked for: now and then each is renamed, and its `lastModified` moves.
import { DAY } from '../../core/time.ts'
import { Draw, mix, PURPOSE } from '../random.ts'
import type { AgentRecord } from './agent-record.ts'

/** In a stretch of so many days an agent changes once, or not at all. */
const STRETCH_MS = 3 * DAY
const CHANGE_SHARE = 0.4
/** Where it has not changed for so long, it is as it was at first. */
const STRETCHES_BACK = 40

export interface AgentHistory {
  /** Times of the agent's changes, in that stretch of time, in order. */
  changesBetween(agent: number, afterMs: number, untilMs: number): number[]
  /** The record as it stood. */
  at(record: AgentRecord, agent: number, nowMs: number): AgentRecord
}

export function createAgentHistory(seed: number): AgentHistory {
  const changeIn = (agent: number, stretch: number): number | undefined => {
    const draw = new Draw(mix(seed, agent), stretch, PURPOSE.agentChange)
    return draw.chance(CHANGE_SHARE) ? Math.floor((stretch + draw.unit()) * STRETCH_MS) : undefined
  }
  const lastChange = (agent: number, nowMs: number): number | undefined => {
    const stretch = Math.floor(nowMs / STRETCH_MS)
    for (let back = 0; back < STRETCHES_BACK; back++) {
      const ms = changeIn(agent, stretch - back)
      if (ms !== undefined && ms <= nowMs) return ms
    }
    return undefined
  }
  return {
    changesBetween(agent, afterMs, untilMs) {
      const changes: number[] = []
      for (let stretch = Math.floor(afterMs / STRETCH_MS); stretch * STRETCH_MS <= untilMs; stretch++) {
        const ms = changeIn(agent, stretch)
        if (ms !== undefined && ms > afterMs && ms <= untilMs) changes.push(ms)
      }
      return changes
    },
    at(record, agent, nowMs) {
      const lastModified = lastChange(agent, nowMs)
      // Every type of event is to have an agent that sends it.
      const agentPlatform = agent === 0 ? 'vg' : record.agentPlatform
      if (lastModified === undefined || lastModified <= record.createdAtUNIX * 1_000)
        return { ...record, agentPlatform }
      const day = new Date(lastModified).toISOString().slice(0, 10)
      return { ...record, agentPlatform, title: `${record.title} (${day})`, lastModified }
    },
  }
}
