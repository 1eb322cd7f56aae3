// Makes a history that violates an invariant smaller, as long as it still does: fewer behaviours, agents, steps and conversations.
import type { History } from './history.ts'

type Fails = (history: History) => Promise<boolean>

const without = <T>(list: readonly T[], index: number): T[] => list.filter((_, other) => other !== index)

/** Smaller histories to try, the boldest first. */
function* smaller(history: History): Generator<History> {
  const { agents, behaviours, steps, vendor = {} } = history
  for (let index = 0; index < behaviours.length; index++) yield { ...history, behaviours: without(behaviours, index) }
  for (const count of [40, 20, 10, 5].filter(count => count < agents.length))
    yield { ...history, agents: agents.slice(0, count) }
  if (agents.length > 1 && agents.length < 12)
    for (let index = 0; index < agents.length; index++) yield { ...history, agents: without(agents, index) }
  for (let index = steps.length - 1; index >= 0; index--) yield { ...history, steps: without(steps, index) }
  for (const key of Object.keys(vendor) as (keyof typeof vendor)[]) {
    const { [key]: _, ...others } = vendor
    yield { ...history, vendor: others }
  }
  for (const [index, step] of steps.entries())
    if ('sync' in step && (Object.keys(step).length > 1 || Object.keys(step.sync).length > 0))
      yield { ...history, steps: steps.map((other, place) => (place === index ? { sync: {} } : other)) }
  for (const [index, agent] of agents.entries()) {
    const change = (changed: Partial<typeof agent>) => ({
      ...history,
      agents: agents.map((other, place) => (place === index ? { ...other, ...changed } : other)),
    })
    if (agent.history > 3) yield change({ history: Math.floor(agent.history / 2) })
    if (agent.perDay > 0) yield change({ perDay: 0 })
    const { id, history: count, historyDays, perDay } = agent
    if (Object.keys(agent).length > 4)
      yield {
        ...history,
        agents: agents.map((other, place) => (place === index ? { id, history: count, historyDays, perDay } : other)),
      }
  }
  if (history.maxPage !== undefined || history.headReserve !== undefined) {
    const { maxPage: _, headReserve: __, ...others } = history
    yield others
  }
}

/** The smallest history found with at most `tries` runs. */
export async function shrunk(history: History, fails: Fails, tries = 300): Promise<History> {
  let left = tries
  for (let best = history; ; ) {
    let next: History | null = null
    for (const candidate of smaller(best)) {
      if (left-- <= 0) return best
      if (candidate.agents.length === 0 || !(await fails(candidate))) continue
      next = candidate
      break
    }
    if (next === null) return best
    best = next
  }
}
