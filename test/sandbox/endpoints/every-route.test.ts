import { describe, expect, it } from 'vitest'
import { FAULT_KINDS } from '../../../src/sandbox/faults/fault-settings.ts'
import { ROUTES } from '../../../src/sandbox/routes/route-table.ts'
import { PROVIDERS } from '../../../src/sandbox/world/voices.ts'
import { open } from '../caller.ts'
import { addressOf, BODIES, DOCUMENTED } from './documented.ts'
import { ask, resources } from './writer.ts'

describe('the routes', () => {
  it('are the documented endpoints', () => {
    expect(ROUTES.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(DOCUMENTED.toSorted())
  })

  it('have every kind of fault', () => {
    expect(new Set(ROUTES.map(({ faultKind }) => faultKind))).toEqual(new Set(FAULT_KINDS))
  })

  it('get faults by script, before anything is written, and are logged by kind', async () => {
    const sandbox = await open()
    const deletionsLast = ROUTES.toSorted((a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'))
    for (const { method, path, kind, faultKind } of deletionsLast) {
      const address = await addressOf(sandbox, path)
      const body = BODIES[`${method} ${path}`]
      sandbox.faults.set({ script: [{ kind: faultKind, at: 1, fault: '503' }] })
      expect([address, (await ask(sandbox, method, address, body)).status]).toEqual([address, 503])
      expect([address, (await ask(sandbox, method, address, body)).status]).toEqual([address, 200])
      const { requests } = (await ask<{ requests: object[] }>(sandbox, 'GET', '/_sandbox/requests')).body
      expect(requests.at(-1)).toMatchObject({ kind, method, path: address, status: 200 })
    }
  })

  it('serve secrets under many names, those of section 2 and others', async () => {
    const sandbox = await open({ conversations: 3 })
    sandbox.conditions.set({ failedProviders: [...PROVIDERS] })
    const places = new Set<string>()
    for (const { method, path } of ROUTES.filter(({ method }) => method === 'GET')) {
      const { body } = await ask(sandbox, method, await addressOf(sandbox, path))
      for (const [, place] of JSON.stringify(body).matchAll(/canary-secret-([\w-]+)/g)) places.add(place!)
    }
    expect(places.size).toBeGreaterThan(80)
  })

  it('of agents do not know a deleted agent', async () => {
    const sandbox = await open()
    sandbox.conditions.set({ gone: [1] })
    for (const { method, path } of ROUTES.filter(({ path }) => path.includes('{agentId}'))) {
      const address = await addressOf(sandbox, path)
      expect([address, (await ask(sandbox, method, address, BODIES[`${method} ${path}`])).status]).toEqual([
        address,
        404,
      ])
    }
    expect((await resources(sandbox)).agents).toEqual(sandbox.world.agentIds().slice(1))
  })
})
