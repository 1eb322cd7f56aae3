import { describe, expect, it } from 'vitest'
import { call, exportPage, exportPath, firstAgent, open, refusal } from './caller.ts'

describe('the rate limit', () => {
  it('counts down, then refuses requests until the oldest one is an hour old', async () => {
    const sandbox = await open({ hourlyRequests: 3 })
    const path = exportPath(firstAgent(sandbox))
    const left: number[] = []
    for (let request = 0; request < 3; request++) {
      left.push((await exportPage(sandbox, firstAgent(sandbox))).rateLimit.remainingHour)
      sandbox.clock.advance(60_000)
    }
    expect(left).toEqual([2, 1, 0])
    const { status, headers, body } = await refusal(sandbox, path)
    expect({ status, code: body.code, retryAfter: headers.get('retry-after') }).toEqual({
      status: 429,
      code: 'TOO_MANY_REQUESTS',
      retryAfter: String(57 * 60),
    })
  })

  it('is rolling: a request counts for an hour, and refused ones never count', async () => {
    const sandbox = await open({ hourlyRequests: 2, hourMs: 10_000 })
    const agentId = firstAgent(sandbox)
    const statusAfter = async (ms: number) => {
      sandbox.clock.advance(ms)
      return (await call(sandbox, exportPath(agentId))).status
    }
    // Requests at 0, 4, 9.999, 10, 13.999 and 14 s.
    expect(await statusAfter(0)).toBe(200)
    expect(await statusAfter(4_000)).toBe(200)
    expect(await statusAfter(5_999)).toBe(429)
    expect(await statusAfter(1)).toBe(200)
    expect(await statusAfter(3_999)).toBe(429)
    expect(await statusAfter(1)).toBe(200)
  })

  it('is 1,500 for a paid workspace, and a refusal bills nothing', async () => {
    const sandbox = await open()
    expect((await exportPage(sandbox, firstAgent(sandbox))).rateLimit).toEqual({
      requestsPerHour: 1_500,
      remainingHour: 1_499,
    })
    const narrow = await open({ hourlyRequests: 1 })
    const { usage } = await exportPage(narrow, firstAgent(narrow))
    await call(narrow, exportPath(firstAgent(narrow)))
    narrow.clock.advance(3_600_000)
    const after = await exportPage(narrow, firstAgent(narrow))
    expect(after.usage.billableUsedThisPeriod).toBe(2 * usage.billableUsedThisRequest)
  })

  it('counts exports only, not searches', async () => {
    const sandbox = await open({ hourlyRequests: 1 })
    for (let search = 0; search < 3; search++) expect((await call(sandbox, '/v3/agents/search')).status).toBe(200)
    expect((await call(sandbox, exportPath(firstAgent(sandbox)))).status).toBe(200)
  })

  it('does not apply after the clock was set back', async () => {
    const sandbox = await open({ hourlyRequests: 1 })
    await exportPage(sandbox, firstAgent(sandbox))
    sandbox.clock.advance(-86_400_000)
    expect((await call(sandbox, exportPath(firstAgent(sandbox)))).status).toBe(200)
  })

  it('is lifted together with the quota for a workspace without limits', async () => {
    const sandbox = await open({ limits: false, hourlyRequests: 1, quotaSessions: 0 })
    await exportPage(sandbox, firstAgent(sandbox))
    const { rateLimit, usage } = await exportPage(sandbox, firstAgent(sandbox))
    expect(rateLimit).toEqual({ requestsPerHour: 1_000_000, remainingHour: 1_000_000 })
    expect(usage).toMatchObject({ includedQuota: 1_000_000_000, overagePacksCharged: 0 })
  })
})
