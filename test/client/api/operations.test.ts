// Compares the client's declarations with the routes of the sandbox. Each is written from the API document alone.
import { describe, expect, it } from 'vitest'
import { OPERATIONS } from '../../../src/client/api/operations.ts'
import { ROUTES } from '../../../src/sandbox/routes/router.ts'

/** The document calls it `id`, "the workspace id"; the client uses one name for it in all operations. */
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
})
