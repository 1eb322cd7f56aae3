import { describe, expect, it } from 'vitest'
import { FAULT_KINDS } from '../../../src/sandbox/faults/fault-settings.ts'
import { startSandbox } from '../../../src/sandbox/server.ts'
import { call, exportPath, firstAgent, open } from '../caller.ts'
import { ask, control, faultReport, openWith, served, statuses } from './fault-caller.ts'

const hit = (statuses: number[]) => statuses.flatMap((status, place) => (status === 200 ? [] : [place + 1]))

describe('a rate', () => {
  it('hits about that share of requests, the same ones for the same seed and others for another', async () => {
    const sandbox = await openWith({ seed: 7, rates: { '503': 0.3 } })
    const once = hit(await statuses(sandbox, 100))
    expect([once.length > 20, once.length < 40]).toEqual([true, true])
    sandbox.faults.set({ seed: 7, rates: { '503': 0.3 } })
    expect(hit(await statuses(sandbox, 100))).toEqual(once)
    sandbox.faults.set({ seed: 8, rates: { '503': 0.3 } })
    expect(hit(await statuses(sandbox, 100))).not.toEqual(once)
  })

  it('does not change which requests another rate hits', async () => {
    const sandbox = await openWith({ rates: { '500': 0.2 } })
    const alone = hit(await statuses(sandbox, 100))
    sandbox.faults.set({ rates: { '500': 0.2, shuffled: 0.5, 'cut-json': 0.5 } })
    expect(hit(await statuses(sandbox, 100))).toEqual(alone)
  })

  it('of 0 hits no request, and a sandbox without faults reports none', async () => {
    const sandbox = await openWith({ rates: { '503': 0 } })
    expect(hit(await statuses(sandbox, 20))).toEqual([])
    const plain = await open()
    expect(await faultReport(plain)).toEqual({
      settings: {},
      requests: Object.fromEntries(FAULT_KINDS.map(kind => [kind, 0])),
      served: {},
    })
  })

  it('may apply together with others to one request, one fault per stage', async () => {
    const rates = { slow: { rate: 1, param: 1 }, html: 1, shuffled: 1, 'usage-reported-low': 1, 'cut-body': 1 }
    const sandbox = await openWith({ rates })
    await (await ask(sandbox)).text().catch(() => {})
    expect((await served(sandbox))[0]!.faults).toEqual(['shuffled', 'usage-reported-low', 'cut-body', 'slow'])
  })
})

describe('a script', () => {
  it('hits the request numbers that it names, counted since it was set', async () => {
    const script = [
      { fault: '503' as const, at: 3 },
      { fault: '500' as const, from: 5, to: 6 },
      { fault: '429' as const, every: 8 },
    ]
    const sandbox = await openWith({ script })
    const expected = [200, 200, 503, 200, 500, 500, 200, 429]
    expect(await statuses(sandbox, 8)).toEqual(expected)
    sandbox.faults.set({ script })
    expect(await statuses(sandbox, 8)).toEqual(expected)
  })

  it('serves a rule at most `times` times, and only to its agent', async () => {
    const sandbox = await open({ agents: 2 })
    const [one, other] = sandbox.world.agentIds() as [string, string]
    sandbox.faults.set({ script: [{ fault: '503', agentId: other, times: 2 }] })
    const answers: number[] = []
    for (const agentId of [one, other, one, other, other]) {
      answers.push((await call(sandbox, exportPath(agentId))).status)
    }
    expect(answers).toEqual([200, 503, 200, 503, 200])
  })

  it('takes precedence over the rates', async () => {
    const sandbox = await openWith({ rates: { '503': 1 }, script: [{ fault: '429', at: 2 }] })
    expect(await statuses(sandbox, 3)).toEqual([503, 429, 503])
  })

  it('does not count requests without a valid token', async () => {
    const sandbox = await openWith({ script: [{ fault: '503', at: 1 }] })
    const init = { headers: { authorization: 'Bearer wrong' } }
    expect((await call(sandbox, exportPath(firstAgent(sandbox)), init)).status).toBe(401)
    expect(await statuses(sandbox, 1)).toEqual([503])
  })
})

describe('the control endpoints', () => {
  it('set faults at run time, report how often each was served, and turn them off', async () => {
    const sandbox = await open({ agents: 1 })
    expect(await statuses(sandbox, 1)).toEqual([200])
    const settings = { seed: 3, rates: { html: { rate: 1 } }, script: [{ fault: '503', every: 2 }] }
    expect((await control(sandbox, 'faults', settings)).status).toBe(200)
    await statuses(sandbox, 5)
    expect(await faultReport(sandbox)).toEqual({
      settings,
      requests: { ...Object.fromEntries(FAULT_KINDS.map(kind => [kind, 0])), export: 5 },
      served: { html: 3, '503': 2 },
    })
    await control(sandbox, 'faults', {})
    expect(await statuses(sandbox, 2)).toEqual([200, 200])
    expect((await faultReport(sandbox)).served).toEqual({})
  })

  it('accept the number of a status as the name of a fault', async () => {
    const sandbox = await open({ agents: 1 })
    await control(sandbox, 'faults', { script: [{ fault: 503, at: 1 }] })
    expect(await statuses(sandbox, 1)).toEqual([503])
  })

  it.each([
    [{ rates: { '504': 0.5 } }, 'there is no fault \\"504\\"; known are'],
    [{ rates: { html: 1.5 } }, 'rates: html'],
    [{ rates: { html: { rate: 0.1, param: 3 } } }, 'html takes no parameter'],
    [{ rates: { slow: { rate: 0.1, param: -3 } } }, 'the parameter of slow is a whole number from 0 to 600000'],
    [{ script: [{ fault: 'htlm' }] }, 'known are'],
    [{ script: [{ fault: 'html', at: 0 }] }, 'script: 0: at'],
    [{ script: [{ fault: 'html', on: 3 }] }, 'on'],
    [{ script: [{ fault: 'shuffled', kind: 'search' }] }, 'not served to agent searches'],
    [{ script: [{ fault: 'shuffled', kind: 'organization' }] }, 'not served to requests for organizations'],
    [{ rate: {} }, 'rate'],
    ['none', 'object'],
  ])('refuse %j and keep the current faults', async (settings, issue) => {
    const sandbox = await openWith({ rates: { '503': 1 } })
    const answer = await control(sandbox, 'faults', settings)
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.json)).toContain(issue)
    expect((await faultReport(sandbox)).settings).toEqual({ rates: { '503': 1 } })
  })
})

describe('a sandbox that is started with an unknown fault', () => {
  it('does not start, and names the known faults', async () => {
    const faults = { rates: { bogus: 1 } } as object
    await expect(startSandbox({ port: 0, faults })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('dropped-after'),
    })
  })
})
