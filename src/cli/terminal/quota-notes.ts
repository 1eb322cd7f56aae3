// What commands add to the number of sessions left.
import { count, counted } from '../../core/words.ts'

/** `; up to 1,201 may have been billed by unanswered requests; the vendor has charged 3 overage packs`, or nothing. */
export function quotaNotes(quota: { unansweredSessions: number; overagePacks: number }): string {
  const { unansweredSessions, overagePacks } = quota
  const unanswered = `; up to ${count(unansweredSessions)} may have been billed by unanswered requests`
  const packs = `; the vendor has charged ${counted(overagePacks, 'overage pack')}`
  return `${unansweredSessions > 0 ? unanswered : ''}${overagePacks > 0 ? packs : ''}`
}
