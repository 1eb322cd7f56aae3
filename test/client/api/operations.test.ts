// Compares the client's declarations with the routes of the sandbox. Each is written from the API document alone.
import { describe, expect, it } from 'vitest'
import { idsIn, OPERATIONS } from '../../../src/client/api/operations.ts'
import { ROUTES } from '../../../src/sandbox/routes/router.ts'
import { ask, open, resources } from '../../sandbox/caller.ts'

/** The document calls it `id`, "the workspace id"; the client has one name for it in all operations. */
const asDocumented = (path: string): string => path.replace('/workspaces/{workspaceId}', '/workspaces/{id}')

const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${asDocumented(path)}`

describe('the operations', () => {
  it('are the routes, in the order of the API document, with their parameters', () => {
    expect(OPERATIONS.map(({ section }) => section)).toEqual([...Array(16).keys()].map(index => `4.${index + 1}`))
    const routes = new Map(ROUTES.map(route => [nameOf(route), Object.keys(route.query?.shape ?? {})]))
    expect(OPERATIONS.map(nameOf).toSorted()).toEqual([...routes.keys()].toSorted())
    for (const operation of OPERATIONS)
      expect(Object.keys(operation.query).toSorted()).toEqual(routes.get(nameOf(operation))!.toSorted())
  })

  it('read with GET, write with POST, PUT and PATCH, and delete with DELETE', () => {
    const methods = { reads: ['GET'], bills: ['GET'], writes: ['POST', 'PUT', 'PATCH'], deletes: ['DELETE'] }
    for (const { effect, method } of OPERATIONS) expect(methods[effect]).toContain(method)
  })

  it('accept the ranges and choices of parameters that the sandbox accepts', async () => {
    const sandbox = await open({ conversations: 3 })
    const { agents, organizations } = await resources(sandbox)
    for (const operation of OPERATIONS) {
      if (!idsIn(operation).every(id => ['agentId', 'orgId'].includes(id))) continue
      const path = operation.path.replace('{agentId}', agents[0]!).replace('{orgId}', organizations[0]!)
      const status = async (name: string, value: string | number) =>
        (await ask(sandbox, 'GET', `${path}?${name}=${value}`)).status
      for (const [name, parameter] of Object.entries(operation.query)) {
        const accepted = parameter.type === 'integer' ? [parameter.min, parameter.max ?? parameter.min] : []
        const choices = parameter.type === 'choice' && name !== 'format' ? parameter.values : []
        for (const value of [...accepted, ...choices])
          expect([operation.name, name, value, await status(name, value)]).toEqual([operation.name, name, value, 200])
        if (parameter.type !== 'integer') continue
        const refused = [parameter.min - 1, ...(parameter.max === undefined ? [] : [parameter.max + 1])]
        for (const value of refused)
          expect([operation.name, name, value, await status(name, value)]).toEqual([operation.name, name, value, 400])
      }
    }
  })
})
