// The quota as the vendor last told it, read off the leases ledger, which knows of probes too.
import type { WorkspaceConfig } from '../../config.ts'
import { recall } from '../../core/recall.ts'
import { HOUR, momentText } from '../../core/time.ts'
import { openLedger } from '../../landing/ledger.ts'
import { budgetOf } from '../plan/budget.ts'

export interface QuotaStatus {
  periodKey: string | null
  usedSessions: number
  includedSessions: number
  sessionsLeft: number
  overagePacks: number
  requestsLeft: number
  requestsPerHour: number
  toldAt: string
}

/** Null where the vendor has told nothing yet. */
export async function quotaStatus(options: {
  home: string
  workspaceId: string
  /** Undefined for a workspace that is in the warehouse and not configured. */
  settings: WorkspaceConfig | undefined
  nowMs: number
}): Promise<QuotaStatus | null> {
  const { home, workspaceId, settings, nowMs } = options
  const hourMs = settings?.hourMs ?? HOUR
  const ledger = openLedger({ home, workspaceId, run: 'status' })
  const entries = await ledger.recent(nowMs, hourMs).finally(() => ledger.close())
  const perHour = settings && { requestsPerHour: settings.requestsPerHour }
  // What was lost in flight is for the next sync to judge: here only what was told counts.
  const requests = entries.filter(entry => entry.kind === 'request')
  const governor = recall({ hourMs, ...perHour }, requests, { nowMs, holdersDead: true })
  const { hour, period } = budgetOf(governor, nowMs)
  if (!period.known || period.toldAtMs === null) return null
  return {
    periodKey: period.key,
    usedSessions: period.usedSessions,
    includedSessions: period.includedSessions,
    sessionsLeft: period.sessionsLeft,
    overagePacks: period.overagePacks,
    requestsLeft: hour.requestsLeft,
    requestsPerHour: hour.requestsPerHour,
    toldAt: momentText(period.toldAtMs),
  }
}
