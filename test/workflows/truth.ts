// What the generator says must be in the warehouse: conversations with a person's message, up to the end of what is read.
import type { Sandbox } from '../../src/sandbox/server.ts'
import { timeMs } from './expected-rows.ts'

export interface TrueRecord {
  agentId: string
  record: Record<string, unknown>
  billableSessions: number
}

/** Of the data as it stands at `atMs`: what has no `ts`, or one that is not later than `throughMs`. */
export function truthOf(sandbox: Sandbox, options: { atMs?: number; throughMs: number }): TrueRecord[] {
  const atMs = options.atMs ?? sandbox.clock.now()
  return sandbox.world.agentIds().flatMap(agentId =>
    [...sandbox.world.conversations(agentId, atMs)]
      .filter(({ billableSessions }) => billableSessions > 0)
      .map(({ document, billableSessions }) => ({ agentId, record: document, billableSessions }))
      .filter(({ record }) => (timeMs(record.ts) ?? 0) <= options.throughMs),
  )
}

/** End of the last whole second that a sync reads which plans at `nowMs`. */
export const readThrough = (nowMs: number, settleMs: number): number =>
  Math.floor((nowMs - settleMs) / 1_000) * 1_000 - 1
