// Lists the conversations that the warehouse must contain: those with a person's message, up to the end of the coverage.
import type { Sandbox } from '../../../src/sandbox/server.ts'

/** Converts seconds, ms or µs, distinguished by magnitude, to ms; null for anything that is not a time. */
export function timeMs(raw: unknown): number | null {
  if (typeof raw === 'string') return /^[1-9]\d{9,15}$/.test(raw) ? timeMs(Number(raw)) : null
  if (typeof raw !== 'number' || raw <= 0 || raw >= 1e17) return null
  return raw < 1e11 ? raw * 1_000 : raw < 1e14 ? raw : raw / 1_000
}

export interface TrueRecord {
  agentId: string
  record: Record<string, unknown>
  billableSessions: number
}

/** Returns exportable records as they are at `atMs` (default: now), whose `ts` is missing or not later than `throughMs`. */
export function truthOf(sandbox: Sandbox, options: { atMs?: number; throughMs: number }): TrueRecord[] {
  const atMs = options.atMs ?? sandbox.clock.now()
  return sandbox.world.agentIds().flatMap(agentId =>
    [...sandbox.world.conversations(agentId, atMs)]
      .filter(({ billableSessions }) => billableSessions > 0)
      .map(({ document, billableSessions }) => ({ agentId, record: document, billableSessions }))
      .filter(({ record }) => (timeMs(record.ts) ?? 0) <= options.throughMs),
  )
}

/** Returns the end of the last whole second that a sync planned at `nowMs` reads. */
export const readThrough = (nowMs: number, settleMs: number): number =>
  Math.floor((nowMs - settleMs) / 1_000) * 1_000 - 1
