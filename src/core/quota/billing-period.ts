// Determines the running billing period. Each answer names one, and may be wrong: stale, cached, mistaken. So an answer is a vote,
// identified by its request, and the newest votes decide, in any order of arrival.
//
//   Answers that were in flight together count once, for the period that most of them name. A vote raises the score of its period (0 to 3)
//   by 1, or by 2 if it is not the known one, and lowers the others' by 1. The address of a probe is new, so its answer is no cached one:
//   it weighs 2. A period becomes the known one at score 3, which two votes reach, if the known one has score 0.
//
// The way back is the same. Every period keeps its counts, to which our own later bills are added. A period that may be the running one is a
// rival: until it is outvoted, exports stay within what both have left. After three such doubts, a single vote no longer makes it a rival.
//
// Two periods of the same key can compete: a report of a used-up quota that our own use does not explain may be a mistake, and so may one of
// less than half. If periods have keys, a lower count is believed only from a probe.
import {
  type BilledAnswer,
  countBilled,
  countOwn,
  countReport,
  holdPending,
  INCLUDED_SESSIONS,
  includedOf,
  latestReport,
  NOTHING_REPORTED,
  newQuota,
  PACK_SESSIONS,
  type Period,
  periodOf,
  type QuotaState,
  reportedUsed,
  type Vote,
  withoutSettledPending,
} from './quota.ts'
import type { ReportedUsage } from './reported-usage.ts'
import { newAccount } from './usage-account.ts'

/** Number of votes that decide; those of four concurrently read windows overlap. */
const VOTES_KEPT = 40
const MAX_SCORE = 3
const OTHERS_KEPT = 4
/** Number of doubts up to which a single answer makes a period a rival. */
const MAX_DOUBTS = 3
/** Share of the included sessions that other users may use between two answers without raising doubt. */
const UNEXPLAINED_SHARE = 0.02

const idOfKey = (key: string | null): string => `key ${key ?? ''}`

/** Applies the usage report of an answer. */
export function applyUsage(quota: QuotaState, usage: ReportedUsage, answer: BilledAnswer): QuotaState {
  const known = periodOf(quota)
  const id = namedPeriod(quota, usage, answer)
  const used = reportedUsed(usage, includedOf(known, usage))
  const named = quota.others.find(period => period.id === id) ?? newPeriod(known, id, usage, answer)
  const unnamed = quota.others.filter(period => period.id !== id)
  const others = id === known.id ? quota.others : [...unnamed, named].slice(-OTHERS_KEPT)
  const held = quota.pending?.sessions ?? 0
  const counted = [known, ...others].map(period => {
    if (period.id !== id) return used === null ? period : countOwn(period, answer)
    const { recent, lag } = known.account
    return countReport(
      { ...period, account: { ...period.account, recent, lag } },
      usage,
      answer,
      period === known ? held : 0,
    )
  })
  // An answer that names no period is no vote for the running one, unless no answer names any.
  const isVote = usage.periodKey !== null || (used !== null && (quota.key === null || id !== known.id))
  const { sentAtMs, receivedAtMs, isProbe } = answer
  const vote = { id, sentAtMs, receivedAtMs, weight: isProbe ? 2 : 1 }
  const votes = isVote ? withVote(quota.votes, vote) : quota.votes
  const isProved = quota.isProved || votes.length === VOTES_KEPT
  const isFurther = id !== known.id && quota.votes.every(one => one.id !== id || one.receivedAtMs <= sentAtMs)
  const doubts = (period: Period): Period =>
    period.id === id && isFurther ? { ...period, doubts: period.doubts + 1 } : period
  const next = withElected({ ...quota, votes, isProved }, counted.map(doubts))
  if (used === null) return countBilled(next, answer)
  const settled = next.id === id ? withoutSettledPending(next, sentAtMs) : next
  const result = { ...settled, known: true, reportedAtMs: latestReport(quota, answer) }
  // The report may be late or about another period, so sessions that are a guess are held back.
  const guessed = next.account.lag !== null || next.id !== id ? answer.billed - (answer.certain ?? answer.billed) : 0
  return guessed > 0 ? holdPending(result, guessed, receivedAtMs) : result
}

/** Returns the id of the period that an answer reports. */
function namedPeriod(quota: QuotaState, usage: ReportedUsage, answer: BilledAnswer): string {
  const key = usage.periodKey ?? quota.key
  if (key !== quota.key && quota.key !== null)
    return quota.others.findLast(period => period.key === key)?.id ?? idOfKey(key)
  const included = includedOf(quota, usage)
  const used = reportedUsed(usage, included)
  if (used === null || quota.mostReported === 0) return quota.id
  const rival = (kind: 'low' | 'spent') => quota.rivals.find(id => id.startsWith(`${kind} `))
  // Usage only grows, so a count at least that of a used-up quota confirms it.
  const spent = quota.others.find(({ id }) => id === rival('spent'))
  if (spent && used >= spent.mostReported) return spent.id
  if (2 * used < quota.mostReported && (key === null || answer.isProbe)) return rival('low') ?? `low ${answer.sentAtMs}`
  const unexplained = used - quota.usedSessions - answer.billed
  const isSpent = used >= included && quota.usedSessions < included
  return isSpent && unexplained > UNEXPLAINED_SHARE * included ? `spent ${answer.sentAtMs}` : quota.id
}

/** Returns a period that no answer has named before. One with the same key has the same own sessions. */
function newPeriod(known: Period, id: string, usage: ReportedUsage, { sentAtMs }: BilledAnswer): Period {
  const key = usage.periodKey ?? known.key
  const isSame = key === known.key && (key !== null || id.startsWith('spent'))
  const own = { own: known.account.own, ownBefore: known.ownBefore, sinceMs: known.sinceMs }
  const { own: counted, ownBefore, sinceMs } = isSame ? own : { own: 0, ownBefore: 0, sinceMs: sentAtMs }
  return {
    ...NOTHING_REPORTED,
    id,
    key,
    usedSessions: ownBefore,
    includedSessions: known.includedSessions,
    isIncludedReported: isSame && known.isIncludedReported,
    sinceMs,
    ownBefore,
    account: { ...newAccount(), own: counted },
  }
}

function withVote(votes: readonly Vote[], vote: Vote): Vote[] {
  const after = votes.findIndex(({ sentAtMs }) => sentAtMs > vote.sentAtMs)
  const at = after < 0 ? votes.length : after
  return [...votes.slice(0, at), vote, ...votes.slice(at)].slice(-VOTES_KEPT)
}

/** Groups the votes that were in flight together with the first vote of their group. */
function groupsOf(votes: readonly Vote[]): Vote[][] {
  const groups: Vote[][] = []
  for (const vote of votes) {
    const group = groups.at(-1)
    if (group && vote.sentAtMs < group[0]!.receivedAtMs) group.push(vote)
    else groups.push([vote])
  }
  return groups
}

/**
 * Returns the vote of a group's majority; in a tie, the one for the unknown period. A lower count of the same time does
 * not contradict a used-up quota.
 */
function majority(group: readonly Vote[], knownId: string): Vote {
  const spent = group.find(({ id }) => id.startsWith('spent ') && id !== knownId)
  if (spent) return spent
  const total = ({ id }: Vote) =>
    group.reduce((sum, vote) => sum + (vote.id === id ? vote.weight : 0), id === knownId ? 0 : 0.5)
  return group.reduce((best, vote) => {
    const more = total(vote) - total(best)
    return more > 0 || (more === 0 && vote.weight > best.weight) ? vote : best
  })
}

/** Elects the known period and its rivals. `periods`: the known one, then all others. */
function withElected(quota: QuotaState, periods: readonly Period[]): QuotaState {
  const byId = new Map(periods.map(period => [period.id, period]))
  let known = quota.id
  const scores = new Map(quota.isProved ? [[known, MAX_SCORE]] : [])
  for (const group of groupsOf(quota.votes.filter(({ id }) => byId.has(id)))) {
    const { id, weight } = majority(group, known)
    for (const [other, score] of scores) if (other !== id) scores.set(other, Math.max(0, score - weight))
    const score = Math.min(MAX_SCORE, (scores.get(id) ?? 0) + (id === known ? weight : 2))
    scores.set(id, score)
    if (score === MAX_SCORE && !scores.get(known)) known = id
  }
  const isRival = ({ id, key, doubts }: Period) =>
    id !== known && (scores.get(id) ?? 0) > (doubts > MAX_DOUBTS && key !== quota.key ? 2 : 0)
  const rivals = periods.filter(isRival).map(({ id }) => id)
  const { key } = byId.get(known)!
  // A key names one period; while that is the known one, its rivals may report the same key.
  const isKept = (period: Period) =>
    period.key === key ? rivals.includes(period.id) : period.key !== quota.key || period.id === quota.id
  const others = periods.filter(isKept).map(withoutRequests)
  const elected = { ...quota, ...byId.get(known)!, others, rivals }
  if (known === quota.id) return elected
  return { ...elected, others: others.map(period => (period.id === quota.id ? { ...period, doubts: 0 } : period)) }
}

/** Removes the requests, which belong to the known period's account. */
const withoutRequests = (period: Period): Period => ({
  ...period,
  account: { ...period.account, recent: [], lag: null },
})

/** A lease's knowledge of the billing period that its sessions belong to. */
export interface GrantedPeriod {
  key: string | null
  includedSessions: number
  isIncludedReported: boolean
  allowedPacks: number
}

export const grantedPeriod = (quota: QuotaState, allowedPacks: number): GrantedPeriod => ({
  key: quota.key,
  includedSessions: quota.includedSessions,
  isIncludedReported: quota.isIncludedReported,
  allowedPacks,
})

/** False if a report names another period than the lease's, or leaves fewer than `sessions` of it. */
export function fitsReport(period: GrantedPeriod, usage: ReportedUsage, sessions: number): boolean {
  const { key, allowedPacks } = period
  if (key !== null && usage.periodKey !== null && usage.periodKey !== key) return false
  const included = includedOf(period, usage)
  return (reportedUsed(usage, included) ?? 0) + sessions <= included + allowedPacks * PACK_SESSIONS
}

// The quota after a restart. Reports of loaded pages give each period's counts. The newest answers, also in the lease
// log, determine the running one.

/** Reports of the loaded pages under one key. */
export interface ReportedPeriod {
  key: string
  /** Number of pages that reported it. */
  reports: number
  usedSessions: number
  /** Sessions that our own answers billed. */
  ownSessions: number
  /** Sessions that are certainly used: those that our own answers billed, and the minimum that others used. */
  certainSessions: number
  includedSessions: number | null
  overageSessions: number
  overagePacks: number
  sinceMs: number
  reportedAtMs: number
}

/** A period that fewer pages reported may be a mistake of the vendor. */
const REPORTS_OF_A_PERIOD = 10

function periodFrom(reported: ReportedPeriod): Period {
  const { ownSessions, certainSessions, reports, reportedAtMs: _at, ...period } = reported
  return {
    ...NOTHING_REPORTED,
    ...period,
    id: idOfKey(period.key),
    usedSessions: Math.max(period.usedSessions, certainSessions),
    mostReported: period.usedSessions,
    includedSessions: period.includedSessions ?? INCLUDED_SESSIONS,
    isIncludedReported: period.includedSessions !== null,
    ownBefore: ownSessions,
    doubts: reports > REPORTS_OF_A_PERIOD ? MAX_DOUBTS + 1 : 0,
  }
}

/** Rebuilds the quota from the reported periods; the last one is the period that most of the newest pages named. */
export function recoverQuota(reported: readonly ReportedPeriod[]): QuotaState {
  const last = reported.at(-1)
  if (last === undefined) return newQuota()
  return {
    ...newQuota(),
    ...periodFrom(last),
    known: true,
    reportedAtMs: last.reportedAtMs,
    others: reported.slice(0, -1).map(periodFrom),
    isProved: last.reports > REPORTS_OF_A_PERIOD,
  }
}
