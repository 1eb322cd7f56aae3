// A history: a vendor, its misbehaviour, and our actions over some days (syncs, waits, kills, changes of our clock). It is plain data, so
// that a counterexample is a few lines. `runHistory` runs it through the real planner, governor, window loop, client and export steps.
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import type { Planning } from '../../src/steps/planning/facts.ts'
import type { Host, ProgressUpdate } from '../../workflows/host.ts'
import type { SyncReport, SyncRequest } from '../../workflows/steps.ts'
import type { Behaviour } from './behaviours.ts'
import { drawsOf } from './draws.ts'
import { type MemoryStore, newMemoryStore } from './memory-landing.ts'
import { MemoryWarehouse } from './memory-warehouse.ts'
import { type ModelClock, modelClock } from './model-clock.ts'
import { runSync } from './model-process.ts'
import { newTransportState, type Served, type TransportState } from './model-transport.ts'
import { type Conversation, VendorModel } from './vendor-model.ts'

/** An agent's conversations, evenly spread over the days before the start and after it. */
export interface AgentPlan {
  id: string
  /** Number of conversations before the start, and of the days over which they are spread. */
  history: number
  historyDays: number
  /** Conversations a day after the start. */
  perDay: number
  /** Share of conversations in which nobody has written; they are skipped. Default: 0. */
  silent?: number
  /** Share of conversations that continue for some sessions. Default: 0. */
  goesOn?: number
  /** Sessions of each conversation. Default: 1. */
  sessions?: number
  /** Sessions of one conversation in the middle of the history. */
  longest?: number
  /** Share of conversations that the vendor deletes within days. Default: 0. */
  vanishing?: number
  /** Maximum delay with which conversations enter the mirror, ms. Default: 0. */
  lateMs?: number
  /** Number of conversations with the same time, in the middle of the history. Default: 0. */
  burst?: number
  /** Time after its start at which a person writes in each silent conversation, ms. Default: nobody ever does. */
  answeredAfterMs?: number
}

export interface VendorPlan {
  includedSessions?: number
  requestsPerHour?: number
  periodDays?: number
  periodAgeDays?: number
  ts?: 'created' | 'activity'
  unit?: 'ms' | 's'
  usedElsewhere?: number
}

export type Asked = Partial<Omit<SyncRequest, 'run' | 'workspaceId'>>

export type Step =
  /** `killAt`: the process dies at that operation (a request, its answer, a write). `watchMs`: a round of watch mode of that interval. `host`: replaces parts of the host. */
  | { sync: Asked; killAt?: number; watchMs?: number; host?: Partial<Host> }
  | { waitMs: number }
  /** Sets our clock ahead of the true time. */
  | { clockAheadMs: number }

export interface History {
  seed: number
  agents: readonly AgentPlan[]
  vendor?: VendorPlan
  /** Page size. Default: 100. */
  maxPage?: number
  headReserve?: number
  /** Other settings of the workspace. */
  settings?: Partial<Planning['settings']>
  behaviours: readonly Behaviour[]
  steps: readonly Step[]
}

/** Outcome of one sync. Times are true ones, ms. */
export interface SyncOutcome {
  index: number
  asked: Asked
  isKilled: boolean
  /** True if the run exceeded the limit of requests or of simulated days. */
  isRunaway: boolean
  beganMs: number
  endedMs: number
  report: SyncReport | null
  /** Error that the run threw. */
  error: unknown
  /** Waits that it published. */
  waits: Extract<ProgressUpdate, { kind: 'waiting' }>[]
}

export interface World {
  history: History
  clock: ModelClock
  vendor: VendorModel
  transport: TransportState
  store: MemoryStore
  warehouse: MemoryWarehouse
  /** Difference between our clock and the true one, ms; positive if ours is ahead. */
  aheadMs: number
  syncs: SyncOutcome[]
  /** Time at which the vendor began to behave, ms. */
  behavesFromMs: number
}

export const START_MS = Date.UTC(2026, 5, 1, 12)
/** Number of days after the last step in which conversations continue: the vendor then behaves, and two more syncs follow. */
const MORE_DAYS = 6

const daysOf = ({ steps }: History): number =>
  steps.reduce((sum, step) => ('waitMs' in step ? sum + step.waitMs : sum), 0) / DAY + MORE_DAYS

function conversationsOf(plan: AgentPlan, seed: number, days: number): Conversation[] {
  const draws = drawsOf(seed)
  const { id: agentId, history, historyDays, perDay, silent = 0, goesOn = 0, vanishing = 0, lateMs = 0 } = plan
  const { burst = 0, answeredAfterMs = Number.POSITIVE_INFINITY } = plan
  const total = history + Math.round(perDay * days)
  const firstOfBurst = Math.floor((history - burst) / 2)
  return Array.from({ length: total }, (_, place) => {
    const index = place >= firstOfBurst && place < firstOfBurst + burst ? firstOfBurst : place
    const isOld = index < history
    const age = isOld ? (-historyDays * (history - index)) / history : (index - history + 1) / perDay
    const createdMs = Math.round(START_MS + age * DAY) + (burst > 0 ? 0 : draws.between(0, 900))
    const humanMs = draws.chance(silent) ? createdMs + answeredAfterMs : createdMs
    const usual = draws.chance(goesOn) ? draws.between(2, 4) : (plan.sessions ?? 1)
    const many = place === Math.floor(history / 2) ? (plan.longest ?? usual) : usual
    const apartMs = many > 4 ? MINUTE : draws.between(1, 30) * HOUR
    return {
      ...{ id: `${agentId.slice(0, 3)}${place}`, agentId, createdMs, humanMs },
      sessionsMs: Number.isFinite(humanMs) ? Array.from({ length: many }, (__, n) => humanMs + n * apartMs) : [],
      mirroredMs: createdMs + (isOld || lateMs === 0 ? 0 : draws.between(0, lateMs)),
      goneMs: draws.chance(vanishing) ? createdMs + draws.between(1, 10) * DAY : Number.POSITIVE_INFINITY,
    }
  })
}

export function newWorld(history: History): World {
  const { seed, agents, vendor = {}, behaviours } = history
  const model = new VendorModel({
    startMs: START_MS,
    agents: agents.map(({ id }) => ({ id, title: `Agent ${id}` })),
    conversations: agents.flatMap((agent, index) => conversationsOf(agent, seed + index, daysOf(history))),
    includedSessions: 50_000,
    requestsPerHour: 1_500,
    periodDays: 30,
    periodAgeDays: 10,
    ts: 'created',
    unit: 'ms',
    usedElsewhere: 0,
    ...vendor,
  })
  return {
    history,
    clock: modelClock(START_MS),
    vendor: model,
    transport: newTransportState(model, behaviours, seed),
    store: newMemoryStore('ws'),
    warehouse: new MemoryWarehouse(),
    aheadMs: 0,
    syncs: [],
    behavesFromMs: Number.POSITIVE_INFINITY,
  }
}

export async function take(world: World, step: Step): Promise<void> {
  if ('waitMs' in step) return world.clock.advance(step.waitMs)
  if ('clockAheadMs' in step) {
    world.aheadMs = step.clockAheadMs
    return
  }
  world.transport.sync = world.syncs.length
  world.syncs.push(await runSync(world, step))
}

/** True if a run has neither ended nor failed, so later steps are meaningless. */
const isStuck = ({ syncs }: World): boolean => syncs.at(-1)?.isRunaway === true

/** Runs the steps. Then the vendor behaves, and two syncs, some days apart, may supply what is missing. */
export async function runHistory(history: History): Promise<World> {
  const world = newWorld(history)
  for (const step of history.steps) {
    await take(world, step)
    if (isStuck(world)) return world
  }
  world.behavesFromMs = world.clock.now()
  world.transport.behavesFromMs = world.behavesFromMs
  world.aheadMs = 0
  await take(world, { waitMs: 2 * DAY })
  for (let again = 0; again < 2 && !isStuck(world); again++) {
    await take(world, { sync: {} })
    await take(world, { waitMs: DAY })
  }
  return world
}

export const exportsOf = ({ transport }: World): Served[] => transport.log.filter(({ kind }) => kind === 'export')
