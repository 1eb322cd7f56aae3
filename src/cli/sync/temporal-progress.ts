// Shows a sync that runs on Temporal on the displays of embedded syncs.
import type { SyncView } from '../../run/temporal/client/follow.ts'
import type { Display } from './progress.ts'

const PAUSED = 'paused: no requests until `convohouse resume`'

/** Returns a listener that turns polled states into the calls an embedded sync makes. */
export function showProgressOn(display: Display): (seen: SyncView) => void {
  let planned = false
  let paused = false
  let heldUntilMs: number | null | undefined
  let before = { pages: 0, conversations: 0, sessions: 0 }
  const failures = new Set<string>()
  return ({ progress, plan, budget }) => {
    if (progress.paused !== paused) display.note(progress.paused ? PAUSED : 'resumed')
    paused = progress.paused
    if (progress.phase === 'planning' && heldUntilMs !== (progress.heldUntilMs ?? null)) {
      heldUntilMs = progress.heldUntilMs ?? null
      display.news({ kind: 'planning', heldUntilMs })
    }
    if (plan === null || budget === null) return
    if (!planned) display.planned({ plan, governor: budget })
    planned = true
    const { pages, conversations, sessions, windowsLeft, waiting } = progress
    for (let page = before.pages; page < pages; page++) {
      const first = page === before.pages
      const records = first ? conversations - before.conversations : 0
      display.page({ agentId: '', records, billed: first ? sessions - before.sessions : 0 })
    }
    before = { pages, conversations, sessions }
    display.news({ kind: 'governor', governor: budget, windowsLeft })
    if (waiting) display.news({ kind: 'waiting', ...waiting })
    for (const failure of progress.failures) {
      const key = JSON.stringify(failure)
      if (!failures.has(key)) display.news({ kind: 'failure', failure, agentId: null })
      failures.add(key)
    }
  }
}
