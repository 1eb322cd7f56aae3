// The billing period: how many billable sessions may still be exported within it. Usage only grows within a period, so
// the highest reported is believed, and what our own answers billed is added where a report does not have it yet
// (usage-account.ts). A change of `periodKey` begins a new period, and one that was left never returns.
//
// An answer may report an old period by mistake, and one that nobody here has seen cannot be told from a new one. So
// another key is believed when two answers in a row report it, the second one asked for after the first one came (three, where
// it has no less used than the known one, as a period that is over may have); and it is forgotten when two in a row report the
// known one. Until then no more may be exported than either period leaves.
import { countGoesOn, FIRST_REPORTS } from './period-keys.ts'
import type { ReportedUsage } from './reported-usage.ts'
import {
  applyReport,
  certainSessions,
  completeFromMs,
  isComplete,
  newAccount,
  nextAccount,
  possibleSessions,
  type UsageAccount,
} from './usage-account.ts'

/** Another period that was reported, and is not proved yet. */
export interface CandidatePeriod {
  key: string
  usedSessions: number
  /** By the last answer. */
  last: boolean
  /** How many answers reported it; absent in states of older versions, as is what follows. */
  told?: number
  /** How many did, each asked for after the one before it came, less those that reported the known period. */
  row?: number
  /** When the first answer of the row came that reported it, ms: a later one is asked for after it. */
  sinceMs?: number
  /** Answers in a row that were asked for later and reported the known period. */
  against?: number
  account?: UsageAccount
}

export interface QuotaState {
  /** Null until the vendor has told a usage: nothing may be bought before that. */
  key: string | null
  /** One answer alone has reported it so far: nothing is proved. */
  unproved?: boolean
  known: boolean
  /** Sessions that are certainly used. */
  usedSessions: number
  includedSessions: number
  overageSessions: number
  overagePacks: number
  reportedAtMs: number | null
  /** When it was first reported, ms; null: not known. Absent in states of older versions, as is `account`. */
  sinceMs?: number | null
  account?: UsageAccount
  /** Sessions that requests may have billed whose answers were lost; the next usage asked for has them. */
  pending: { sessions: number; sinceMs: number } | null
  candidate: CandidatePeriod | null
  /** Keys of periods that were left, newest last. */
  past: readonly string[]
  /** Where no key is reported: the last answer reported less than half of what was reported before. */
  fall?: { sinceMs: number; account: UsageAccount } | null
  /** What the key before had reported, while the first reports may show that this one names the same period. */
  before?: { usedSessions: number; sinceMs: number | null; reports: number } | null
}

/** Included in a period where the vendor does not tell (section 8). */
export const INCLUDED_SESSIONS = 50_000

/** Sessions in a pack of overage (section 8). */
export const PACK_SESSIONS = 1_000

const PAST_KEPT = 24

/** Answers that report another period after which it is not asked again at once: it may be reported without end. */
const MOST_DOUBTS = 3

/** After so many answers that report another period without proving it, a run asks no more to find out. */
const GIVES_UP_AFTER = 12

export const newQuota = (): QuotaState => ({
  key: null,
  known: false,
  usedSessions: 0,
  includedSessions: INCLUDED_SESSIONS,
  overageSessions: 0,
  overagePacks: 0,
  reportedAtMs: null,
  sinceMs: null,
  account: newAccount(),
  pending: null,
  candidate: null,
  past: [],
})

const accountOf = ({ account }: { account?: UsageAccount | undefined }): UsageAccount => account ?? newAccount()

/** The period that two answers in a row have reported. */
function turned(period: QuotaState, { key, account, sinceMs }: CandidatePeriod): QuotaState {
  const past = period.key === null ? period.past : [...period.past, period.key].slice(-PAST_KEPT)
  const { includedSessions } = period
  const usedSessions = accountOf(period).report?.usedSessions ?? period.usedSessions
  return {
    ...newQuota(),
    includedSessions,
    key,
    past,
    sinceMs: sinceMs ?? null,
    account: accountOf({ account }),
    before: { usedSessions, sinceMs: period.sinceMs ?? null, reports: 0 },
  }
}

/** The period began when the key before was first told of, where that key's count goes on under this one. */
function carriedOn(period: QuotaState, used: number): QuotaState {
  const { before, pending } = period
  if (!before) return period
  const carried = used - accountOf(period).own - (pending?.sessions ?? 0)
  if (countGoesOn(before.usedSessions, carried))
    return { ...period, sinceMs: before.sinceMs ?? period.sinceMs ?? null, before: null }
  const reports = before.reports + 1
  return { ...period, before: reports < FIRST_REPORTS ? { ...before, reports } : null }
}

/** When an answer was asked for and came, ms, and the sessions that it billed itself. */
export interface BilledAnswer {
  sentAtMs: number
  receivedAtMs: number
  billed: number
  /** False where the answer did not tell what it billed: a guess, which the next report replaces. */
  certain?: boolean
  /** Sessions that other requests of ours may have billed meanwhile, whose answers are not known yet. */
  unseen?: number
}

/** What an answer billed that tells of another period than the one that is known. */
function billedElsewhere(period: QuotaState, bought: BilledAnswer): QuotaState {
  return bought.billed > 0 ? holdPending(period, bought.billed, bought.receivedAtMs) : period
}

const toldAt = (period: QuotaState, { sentAtMs }: BilledAnswer): number => Math.max(period.reportedAtMs ?? 0, sentAtMs)

function usedTold(usage: ReportedUsage, includedSessions: number): number | null {
  const remaining = usage.billableRemainingThisPeriod
  return usage.billableUsedThisPeriod ?? (remaining === null ? null : Math.max(0, includedSessions - remaining))
}

const ownRequest = ({ sentAtMs, receivedAtMs, billed, certain = true }: BilledAnswer) => {
  return { sentAtMs, receivedAtMs, sessions: certain ? billed : 0 }
}

const reported = (account: UsageAccount, used: number, bought: BilledAnswer, held: number): UsageAccount =>
  applyReport(account, used, { ...ownRequest(bought), unseen: (bought.unseen ?? 0) + held })

/** The known period was reported: what was said of another one may have been a mistake, and is one when it is said again. */
function contradicted(period: QuotaState, key: string | null, bought: BilledAnswer): QuotaState {
  const { candidate } = period
  if (candidate === null || key === null || bought.sentAtMs < (candidate.sinceMs ?? 0)) return period
  const against = (candidate.against ?? 0) + 1
  const row = Math.max(0, (candidate.row ?? 1) - 1)
  return { ...period, candidate: against > 1 ? null : { ...candidate, last: false, against, row } }
}

/** Answers that were under way together count once; those that report the known period are taken off, so that it is outvoted. */
function rowOf(
  before: CandidatePeriod | null,
  { sentAtMs, receivedAtMs }: BilledAnswer,
): Pick<CandidatePeriod, 'row' | 'sinceMs'> {
  if (before === null) return { row: 1, sinceMs: receivedAtMs }
  const { row = 1, sinceMs = receivedAtMs } = before
  return sentAtMs < sinceMs ? { row, sinceMs } : { row: row + 1, sinceMs: receivedAtMs }
}

/** Another period, reported for the first time, or not often enough in a row. */
function doubted(
  period: QuotaState,
  key: string,
  { usage, bought }: { usage: ReportedUsage; bought: BilledAnswer },
): QuotaState {
  const before = period.candidate?.key === key ? period.candidate : null
  const used = usedTold(usage, usage.includedQuota ?? period.includedSessions) ?? 0
  const candidate: CandidatePeriod = {
    key,
    usedSessions: Math.max(before?.usedSessions ?? 0, used),
    last: true,
    // Of any other period: a vendor who names another in each answer is not asked again at once each time. Answers that were under way
    // together count once, and so do those that the lease log tells anew after a restart.
    told: (period.candidate?.told ?? 0) + (bought.sentAtMs < (period.candidate?.sinceMs ?? 0) ? 0 : 1),
    ...rowOf(before, bought),
    against: 0,
    account: reported(before?.account ?? nextAccount(accountOf(period)), used, bought, 0),
  }
  // The first time it may be asked again at once.
  const reportedAtMs = period.candidate === null ? period.reportedAtMs : toldAt(period, bought)
  return { ...billedElsewhere(period, bought), candidate, reportedAtMs }
}

/** A period that begins has less used than the one before; answers of one that is over, which overtake others, have not. */
const IN_A_ROW = { less: 2, more: 3 }

function isProved(
  period: QuotaState,
  key: string,
  { usage, bought }: { usage: ReportedUsage; bought: BilledAnswer },
): boolean {
  const { candidate, unproved, usedSessions } = period
  if (candidate?.key !== key || !candidate.last || bought.sentAtMs < (candidate.sinceMs ?? 0)) return false
  const used = usedTold(usage, usage.includedQuota ?? period.includedSessions) ?? 0
  const needed = unproved || used < usedSessions ? IN_A_ROW.less : IN_A_ROW.more
  return (candidate.row ?? 1) + 1 >= needed
}

/** Takes what an answer told. What an old period's answer tells is no news; another key is, when it is told several times in a row. */
export function tellPeriod(period: QuotaState, usage: ReportedUsage, bought: BilledAnswer): QuotaState {
  const next = taken(period, usage, bought)
  const used = usedTold(usage, next.includedSessions)
  return usage.periodKey === next.key && used !== null ? carriedOn(next, used) : next
}

function taken(period: QuotaState, usage: ReportedUsage, bought: BilledAnswer): QuotaState {
  const key = usage.periodKey
  const changes = key !== null && period.key !== null && key !== period.key
  if (changes && period.past.includes(key))
    return { ...billedElsewhere(period, bought), reportedAtMs: toldAt(period, bought) }
  if (changes && !isProved(period, key, { usage, bought })) return doubted(period, key, { usage, bought })
  const fallsTo = fallenTo(period, usage)
  if (fallsTo !== null && bought.sentAtMs < (period.fall?.sinceMs ?? Number.POSITIVE_INFINITY))
    return doubtedFall(period, fallsTo, bought)
  const asked = period.candidate?.told === 1 && !changes
  const known = fallsTo === null ? contradicted(notFallen(period), key, bought) : fallen(period)
  const current = changes ? turned(period, period.candidate!) : known
  const includedSessions = usage.includedQuota ?? current.includedSessions
  const used = usedTold(usage, includedSessions)
  const counted = used === null ? countBilled(current, bought) : accounted(current, used, bought)
  return {
    ...counted,
    key: key ?? current.key,
    known: true,
    includedSessions,
    overageSessions: Math.max(current.overageSessions, usage.overageUsedThisPeriod ?? 0),
    overagePacks: Math.max(current.overagePacks, usage.overagePacksCharged ?? 0),
    // An answer that contradicts a rumour for the first time: the next one may be asked for at once.
    reportedAtMs: asked && current.candidate !== null ? current.reportedAtMs : toldAt(current, bought),
    sinceMs: current.sinceMs ?? bought.sentAtMs,
    // Where no key is reported, there is nothing to prove.
    unproved: key !== null && period.key === null,
    ...(current.fall && { fall: null }),
  }
}

/** Less than half of what was reported before, where no key is reported that tells one period from another; otherwise null. */
function fallenTo(period: QuotaState, usage: ReportedUsage): number | null {
  if (period.key !== null || usage.periodKey !== null) return null
  const used = usedTold(usage, usage.includedQuota ?? period.includedSessions)
  return used !== null && 2 * used < (accountOf(period).report?.usedSessions ?? 0) ? used : null
}

/** A count that fell may be a mistake of one answer: another period is believed when the next one, asked for later, says so too. */
function doubtedFall(period: QuotaState, used: number, bought: BilledAnswer): QuotaState {
  const account = reported(period.fall?.account ?? nextAccount(accountOf(period)), used, bought, 0)
  const sinceMs = period.fall?.sinceMs ?? bought.receivedAtMs
  return { ...billedElsewhere(period, bought), fall: { sinceMs, account } }
}

/** The fall was a late or mistaken report: what was billed meanwhile was billed in this period, and a late count does not have it yet. */
function notFallen(period: QuotaState): QuotaState {
  if (!period.fall) return period
  const [{ own, recent }, account] = [period.fall.account, accountOf(period)]
  return { ...period, account: { ...account, own: account.own + own, recent } }
}

/** The period that began when the count fell. */
const fallen = ({ includedSessions, fall }: QuotaState): QuotaState => ({
  ...newQuota(),
  includedSessions,
  ...(fall && { account: fall.account, sinceMs: fall.sinceMs }),
})

/** Takes a report of the known period's usage, and what the answer that brought it billed. */
function accounted(period: QuotaState, used: number, bought: BilledAnswer): QuotaState {
  const account = reported(accountOf(period), used, bought, period.pending?.sessions ?? 0)
  const usedSessions = Math.max(period.usedSessions, used, certainSessions(account))
  const left = cleared({ ...period, account, usedSessions }, bought.sentAtMs)
  // What it billed is a guess, and the report may be late.
  return bought.certain === false && bought.billed > 0 && account.lag
    ? holdPending(left, bought.billed, bought.receivedAtMs)
    : left
}

/** What the landed answers have reported of a period so far. */
export interface ReportedPeriod {
  key: string
  /** Nothing is proved: it was the first answer of all that reported it. */
  unproved: boolean
  usedSessions: number
  /** Sessions that certainly are used: what our own answers billed, and the least that others did. */
  certainSessions: number
  includedSessions: number | null
  overageSessions: number
  overagePacks: number
  sinceMs: number
  reportedAtMs: number
}

/**
 * The period as the landed answers make it known. `proved`: those that two answers in a row reported, by when that was, or the
 * only one where there is none; `newest`: what the newest two answers reported, newest first, proved or not.
 */
export function recoverQuota({
  proved,
  newest,
}: {
  proved: readonly ReportedPeriod[]
  newest: readonly { key: string; usedSessions: number; reportedAtMs: number }[]
}): QuotaState {
  const running = proved.at(-1)
  if (running === undefined) return newQuota()
  const { key, usedSessions, overageSessions, overagePacks, sinceMs, reportedAtMs } = running
  const known = new Set(proved.map(period => period.key))
  const place = newest.findIndex(answer => !known.has(answer.key))
  const doubtful = newest[place]
  return {
    ...newQuota(),
    key,
    known: true,
    usedSessions: Math.max(usedSessions, running.certainSessions),
    includedSessions: running.includedSessions ?? INCLUDED_SESSIONS,
    overageSessions,
    overagePacks,
    reportedAtMs,
    sinceMs,
    unproved: running.unproved,
    candidate: doubtful
      ? {
          key: doubtful.key,
          usedSessions: doubtful.usedSessions,
          last: place === 0,
          told: 1,
          sinceMs: doubtful.reportedAtMs,
          against: place,
        }
      : null,
    past: proved
      .slice(0, -1)
      .map(period => period.key)
      .slice(-PAST_KEPT),
  }
}

/**
 * The period with a landed answer that no load has taken yet. Its own sessions are counted by the lease log, or not at all where
 * that is too old to tell.
 */
export function tellLanded(period: QuotaState, usage: ReportedUsage, bought: Omit<BilledAnswer, 'billed'>): QuotaState {
  const { account: _counted, before: _unknown, ...next } = taken(period, usage, { ...bought, billed: 0 })
  return { ...next, account: newAccount() }
}

/** A count that was asked for after an answer was given up holds what that answer billed, unless counts are late. */
const cleared = (period: QuotaState, sentAtMs: number): QuotaState =>
  period.pending && isComplete(accountOf(period), sentAtMs, period.pending.sinceMs)
    ? { ...period, pending: null }
    : period

/**
 * Counts sessions that an answer billed without telling the period's usage: a later one may. What was held back and is
 * not told by one that was asked for later, counts as spent.
 */
export function countBilled(period: QuotaState, { sentAtMs, receivedAtMs, billed }: BilledAnswer): QuotaState {
  const left = cleared(period, sentAtMs)
  const untold = left.pending === null ? (period.pending?.sessions ?? 0) : 0
  const counted = {
    ...left,
    known: true,
    usedSessions: period.usedSessions + untold,
    reportedAtMs: Math.max(period.reportedAtMs ?? 0, sentAtMs),
  }
  return billed > 0 ? holdPending(counted, billed, receivedAtMs) : counted
}

/** Sessions that may be used, other than those of lost answers. */
export const possiblyUsed = (period: QuotaState): number =>
  Math.max(period.usedSessions, period.candidate?.usedSessions ?? 0, possibleSessions(accountOf(period)))

/** Sessions left before money is spent beyond what is allowed. May be negative. */
export const sessionsLeft = (period: QuotaState, allowedPacks: number): number =>
  period.includedSessions + allowedPacks * PACK_SESSIONS - possiblyUsed(period) - (period.pending?.sessions ?? 0)

/** When a report may show that more is left than can be said now, ms; null: none can. */
export function resolvesAtMs(period: QuotaState): number | null {
  const { fall, candidate, pending, usedSessions } = period
  if (fall) return 0
  if (period.unproved && (candidate?.told ?? 0) <= 1) return 0
  if (candidate && candidate.usedSessions > usedSessions && (candidate.told ?? 0) <= MOST_DOUBTS) return 0
  if ((candidate?.told ?? 0) > GIVES_UP_AFTER) return null
  const account = accountOf(period)
  if (pending === null && possibleSessions(account) <= usedSessions) return null
  return Math.max(completeFromMs(account), pending ? pending.sinceMs + (account.lag?.ms ?? 0) : 0)
}

/** Holds back what lost answers may have billed; `sinceMs`: when they were given up. */
export const holdPending = (period: QuotaState, sessions: number, sinceMs: number): QuotaState => ({
  ...period,
  pending: {
    sessions: (period.pending?.sessions ?? 0) + sessions,
    sinceMs: Math.max(period.pending?.sinceMs ?? 0, sinceMs),
  },
})
