// A scenario: syncs of a workspace against the model of the vendor, one after the other. A test may inspect each of
// them, while random histories (history.ts) are inspected at their end.
import { DAY } from '../../src/core/time.ts'
import type { SyncReport } from '../../workflows/steps.ts'
import { type Behaviour, newMemory } from './behaviours.ts'
import {
  type Asked,
  exportsOf,
  type History,
  newWorld,
  type Step,
  type SyncOutcome,
  take,
  type World,
} from './history.ts'
import { keyOf, MemoryWarehouse } from './memory-warehouse.ts'
import type { Served } from './model-transport.ts'
import { settledAt } from './truth.ts'

type SyncStep = Extract<Step, { sync: unknown }>

export interface Scenario {
  world: World
  /** Runs one sync, and throws its error. */
  sync(asked?: Asked, more?: Omit<SyncStep, 'sync'>): Promise<SyncReport>
  wait(ms: number): void
  /** Replaces the vendor's behaviours. */
  vendor(...behaviours: Behaviour[]): void
  /** Returns the outcome of the last sync. */
  last(): SyncOutcome
  /** Returns export requests, including probes; `from`: index of the first sync. */
  requests(from?: number): Served[]
  /** Returns the sessions that the vendor has billed. */
  billed(): number
  /** Returns the usage that the vendor reports now. */
  usage(): Record<string, unknown>
  /** Returns the conversations of the tables, as `agent/id`, sorted. */
  stored(): string[]
  /** Returns settled conversations that never arrived, as `agent/id`. */
  missing(): string[]
  /** Loses landed pages, and all tables: the next sync loads the remaining pages. */
  losePages(isLost: (index: number) => boolean): void
}

/** Settings that export nothing again unless a test asks for it. */
const NOTHING_AGAIN = { rereadShare: 0, sampleShare: 0 }

type Given = Partial<History> & Pick<History, 'agents'> & { days?: number }

/** Opens a scenario. New conversations arrive for `days`. */
export function scenario({ days = 60, settings, ...given }: Given): Scenario {
  const world = newWorld({
    ...{ seed: 1, behaviours: [], ...given },
    settings: { ...NOTHING_AGAIN, ...settings },
    steps: [{ waitMs: days * DAY }],
  })
  const { vendor, clock, transport } = world
  const last = () => world.syncs.at(-1)!
  return {
    world,
    async sync(sync = {}, more = {}) {
      await take(world, { sync, ...more })
      if (last().error) throw last().error
      return last().report!
    },
    wait: ms => clock.advance(ms),
    vendor(...behaviours) {
      transport.behaviours = behaviours
      transport.memories = behaviours.map(newMemory)
    },
    last,
    requests: (from = 0) => exportsOf(world).filter(({ sync }) => sync >= from),
    billed: () => vendor.bills.reduce((sum, { sessions }) => sum + sessions, 0),
    usage: () => vendor.usage(0, clock.now()),
    stored: () => [...world.warehouse.conversations.values()].map(({ agentId, id }) => `${agentId}/${id}`).sort(),
    missing: () =>
      settledAt(world, last().beganMs, last().endedMs)
        .filter(({ agentId, id }) => !world.warehouse.conversations.has(keyOf(agentId, id)))
        .map(({ agentId, id }) => `${agentId}/${id}`),
    losePages(isLost) {
      const pages = [...world.store.pages.keys()].filter(address => address.includes('/conversations/'))
      for (const address of pages.filter((_, index) => isLost(index))) world.store.pages.delete(address)
      world.warehouse = new MemoryWarehouse()
    },
  }
}

/** Returns an agent with conversations of the last 30 days. */
export const agent = (id: string, history: number, more: Partial<History['agents'][number]> = {}) => ({
  id,
  history,
  historyDays: 30,
  perDay: 0,
  ...more,
})
