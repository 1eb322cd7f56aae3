// Several agents whose conversations have any number of sessions, close to a limit: which limits are exceeded, and by how much.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type GovernorState,
  type Grant,
  govern,
  newGovernor,
  requestLease,
} from '../../../src/core/governor/governor.ts'
import { pageSessions } from '../../../src/core/governor/page-size.ts'
import { NO_OUTLOOK, projectedSessions } from '../../../src/core/planning/estimate.ts'
import type { WindowKind } from '../../../src/core/planning/windows.ts'
import { rounds } from '../../tier.ts'

const NOW = 1_750_000_000_000
const INCLUDED = 50_000

interface Agent {
  agentId: string
  /** Sessions of each conversation; the last one of a page may have more. */
  usual: number
  surprise: number
}

interface Held {
  grant: Grant
  agent: Agent
}

type Step = { do: 'ask'; agent: number; kind: WindowKind; wants: number } | { do: 'end'; lease: number; pages: number }

const agents = fc
  .array(fc.record({ usual: fc.integer({ min: 1, max: 5 }), surprise: fc.integer({ min: 0, max: 200 }) }), {
    minLength: 1,
    maxLength: 4,
  })
  .map(drawn => drawn.map((one, index): Agent => ({ agentId: `agent ${index}`, ...one })))

const steps = fc.array(
  fc.oneof(
    fc.record({
      do: fc.constant('ask' as const),
      agent: fc.nat(3),
      kind: fc.constantFrom<WindowKind>('head', 'tail', 'full', 'reread'),
      wants: fc.integer({ min: 1, max: 20 }),
    }),
    fc.record({ do: fc.constant('end' as const), lease: fc.nat(9), pages: fc.integer({ min: 1, max: 20 }) }),
  ),
  { minLength: 20, maxLength: 120 },
)

const answer = (billed: number, returned: number, used: number, most: number) => ({
  sentAtMs: NOW,
  receivedAtMs: NOW + 1,
  status: 200,
  returned,
  billed,
  mostSessions: most,
  usage: {
    periodKey: 'p1',
    billableUsedThisRequest: billed,
    billableUsedThisPeriod: used,
    includedQuota: INCLUDED,
    billableRemainingThisPeriod: INCLUDED - used,
    overageUsedThisPeriod: 0,
    overagePacksCharged: 0,
    exportRequestCount: null,
  },
  rateLimit: null,
  retryAfterMs: null,
})

/** Leases of several agents whose pages are answered in any order. */
class Vendor {
  state: GovernorState
  used: number
  billed = 0
  held: Held[] = []
  limits: number[] = []
  /** Sessions of one conversation for each lease that was open when the last one was granted. */
  surprises = 0
  private leases = 0

  constructor(maxSessions: number | null, used: number) {
    this.used = used
    const known = { kind: 'answered' as const, lease: null, answer: answer(0, 0, used, 0) }
    this.state = govern(govern(newGovernor({ maxSessions, requestsPerHour: 10_000 }), known), known)
  }

  ask(agent: Agent, kind: WindowKind, wants: number): string {
    const asked = { lease: `l${++this.leases}`, agentId: agent.agentId, kind, wants }
    const [state, decision] = requestLease(this.state, asked, NOW)
    this.state = state
    if (decision.kind !== 'grant') return decision.kind
    this.held.push({ grant: decision.grant, agent })
    this.limits.push(decision.grant.limit)
    this.surprises = this.held.reduce((sum, { agent: one }) => sum + Math.max(one.usual, one.surprise), 0)
    return 'grant'
  }

  /** Answers pages of a lease as long as it permits them, then ends it. */
  end(index: number, pages: number): void {
    const [one] = this.held.splice(index % Math.max(1, this.held.length), 1)
    if (!one) return
    const { grant, agent } = one
    let spent = 0
    for (let page = 0; page < Math.min(pages, grant.requests) && spent + grant.pageSessions <= grant.sessions; page++) {
      const last = Math.max(agent.usual, page === 0 ? agent.surprise : 0)
      const billed = agent.usual * (grant.limit - 1) + last
      spent += billed
      this.used += billed
      this.billed += billed
      this.state = govern(this.state, {
        kind: 'answered',
        lease: grant.lease,
        answer: answer(billed, grant.limit, this.used, last),
      })
    }
    this.state = govern(this.state, { kind: 'ended', lease: grant.lease })
  }
}

function run(vendor: Vendor, chosen: readonly Agent[], done: readonly Step[]): void {
  for (const one of done) {
    if (one.do === 'end') vendor.end(one.lease, one.pages)
    else if (vendor.held.length < 4) vendor.ask(chosen[one.agent % chosen.length]!, one.kind, one.wants)
  }
  while (vendor.held.length > 0) vendor.end(0, 20)
}

describe('leases of several agents', () => {
  it('exceed the limit of a run at most by one conversation for each open lease', () => {
    fc.assert(
      fc.property(agents, steps, fc.integer({ min: 1, max: 3_000 }), (chosen, done, maxSessions) => {
        const vendor = new Vendor(maxSessions, 0)
        run(vendor, chosen, done)
        expect(vendor.billed).toBeLessThanOrEqual(maxSessions + vendor.surprises)
      }),
      { numRuns: rounds('GOVERNOR_RUNS', { usual: 120, deep: 4_000 }) },
    )
  })

  it('exceed the quota at most by one conversation for each open lease', () => {
    fc.assert(
      fc.property(agents, steps, fc.integer({ min: 0, max: 3_000 }), (chosen, done, left) => {
        const vendor = new Vendor(null, INCLUDED - left)
        run(vendor, chosen, done)
        expect(vendor.used).toBeLessThanOrEqual(INCLUDED + vendor.surprises)
      }),
      { numRuns: rounds('GOVERNOR_RUNS', { usual: 120, deep: 4_000 }) },
    )
  })

  it('read new conversations with the last sessions of the period, in small pages', () => {
    fc.assert(
      fc.property(agents, steps, fc.integer({ min: 0, max: 400 }), (chosen, done, left) => {
        const vendor = new Vendor(null, INCLUDED - left)
        run(vendor, chosen, done)
        for (const agent of chosen) {
          const fits = INCLUDED - vendor.used - 4 >= pageSessions(vendor.state, agent.agentId, 1)
          expect(vendor.ask(agent, 'head', 1)).toBe(fits ? 'grant' : 'refuse')
          vendor.end(0, 1)
        }
      }),
    )
  })

  it('of other agents keep the size of their pages after one conversation of 200 sessions', () => {
    const vendor = new Vendor(null, INCLUDED - 1_200)
    const [odd, others] = [
      { agentId: 'odd', usual: 1, surprise: 200 },
      { agentId: 'other', usual: 1, surprise: 1 },
    ]
    for (const agent of [others, odd]) {
      vendor.ask(agent, 'head', 1)
      vendor.end(0, 1)
    }
    const sizes = (agent: Agent) => {
      vendor.ask(agent, 'head', 1)
      return vendor.limits.at(-1)
    }
    expect(sizes(others)).toBe(100)
    vendor.end(0, 1)
    expect(sizes(odd)).toBeLessThanOrEqual(2)
  })
})

describe('history', () => {
  const perDay = fc.integer({ min: 0, max: 2_000 })

  it('takes no session that the new conversations of agents with known rates need', () => {
    fc.assert(
      fc.property(perDay, perDay, fc.nat(INCLUDED), fc.boolean(), (knownPerDay, seen, used, isRead) => {
        const vendor = new Vendor(null, used)
        const learned = [
          { agentId: 'read', perDay: seen, conversations: 10_000 },
          { agentId: 'unread', perDay: isRead ? 0 : null, conversations: 0 },
        ]
        const outlook = { ...NO_OUTLOOK, knownPerDay, learned }
        const options = { ...vendor.state.options, headReserveShare: null }
        vendor.state = { ...vendor.state, outlook, options }
        for (const agentId of ['read', 'known']) vendor.ask({ agentId, usual: 1, surprise: 0 }, 'tail', 20)
        if (vendor.held.length === 0) return
        const leased = vendor.held.reduce((sum, { grant }) => sum + grant.sessions, 0)
        expect(INCLUDED - used - leased).toBeGreaterThanOrEqual(Math.max(5_000, projectedSessions(outlook, null)))
      }),
    )
  })

  it('of agents without a known rate is begun by small pages, which together take half of what is left at most', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), fc.nat(INCLUDED), (count, used) => {
        const vendor = new Vendor(null, used)
        const unread = Array.from({ length: count }, (_, at) => `agent ${at}`)
        const learned = unread.map(agentId => ({ agentId, perDay: null, conversations: 0 }))
        const options = { ...vendor.state.options, headReserveShare: null }
        // Known agents need all that is left.
        vendor.state = { ...vendor.state, options, outlook: { ...NO_OUTLOOK, knownPerDay: 50_000, learned } }
        const answers = unread.map(agentId => vendor.ask({ agentId, usual: 1, surprise: 0 }, 'tail', 20))
        if (INCLUDED - used > 4 * count + 1_000) expect(new Set(answers)).toEqual(new Set(['grant']))
        const leased = vendor.held.reduce((sum, { grant }) => sum + grant.sessions, 0)
        expect(leased).toBeLessThanOrEqual((INCLUDED - used) / 2 + 2 * count)
        expect(vendor.ask({ agentId: 'known', usual: 1, surprise: 0 }, 'tail', 1)).not.toBe('grant')
      }),
    )
  })
})

it('a run that may bill 100 sessions asks each agent for five conversations at most at first', () => {
  const vendor = new Vendor(100, 0)
  for (const agentId of ['a', 'b', 'c']) vendor.ask({ agentId, usual: 1, surprise: 0 }, 'tail', 5)
  expect(Math.max(...vendor.limits)).toBeLessThanOrEqual(5)
})
