// Compares the client's declarations with the OpenAPI document that the sandbox serves. Each is written from the API document alone.
import { describe, expect, it } from 'vitest'
import { idsIn, OPERATIONS, type Operation, type Parameter } from '../../../src/client/api/operations.ts'
import { open } from '../../sandbox/caller.ts'

interface Schema {
  type?: string
  minimum?: number
  maximum?: number
  enum?: string[]
  properties?: Record<string, Schema>
  required?: string[]
}

interface Described {
  operationId: string
  parameters?: { name: string; in: string; schema: Schema }[]
  requestBody?: { content: { 'application/json': { schema: Schema } } }
  responses: Record<string, { content: { 'application/json': { schema: Schema } } }>
}

/** Differences that are intended, by operation and subject. */
const DIFFERENCES: Readonly<Record<string, { sandbox: unknown; client: unknown; reason: string }>> = {
  'updateWorkspace path': {
    sandbox: '/v3/workspaces/{id}',
    client: '/v3/workspaces/{workspaceId}',
    reason: 'The document calls it `id`, "the workspace id"; the client has one name for it in all operations.',
  },
  'updateWorkspace ids': { sandbox: ['id'], client: ['workspaceId'], reason: 'The same.' },
  'getAuditLog limit': {
    sandbox: { type: 'integer', minimum: 1, maximum: 200 },
    client: { type: 'integer', minimum: 1 },
    reason: 'The document states no maximum; the sandbox has one, and the client leaves the decision to the vendor.',
  },
  'listTeams page': {
    sandbox: { type: 'integer', minimum: 1, maximum: 1_000_000 },
    client: { type: 'integer', minimum: 1 },
    reason: 'The document shows no parameters; the maximum protects the sandbox.',
  },
  'searchAgents page': {
    sandbox: { type: 'integer', minimum: 1, maximum: 1_000_000 },
    client: { type: 'integer', minimum: 1 },
    reason: 'The same.',
  },
  'searchAgents starredOnly': {
    sandbox: { type: 'string', enum: ['true', 'false'] },
    client: { type: 'boolean' },
    reason: 'The client takes a boolean, and sends `true` or `false`.',
  },
}

function schemaOf(parameter: Parameter): Schema {
  switch (parameter.type) {
    case 'integer': {
      const { min: minimum, max } = parameter
      return { type: 'integer', minimum, ...(max !== undefined && { maximum: max }) }
    }
    case 'choice':
      return { type: 'string', enum: [...parameter.values] }
    case 'boolean':
      return { type: 'boolean' }
    default:
      return { type: 'string' }
  }
}

/** A schema without defaults, and without the maximum that stands for none. */
function bounds({ type, minimum, maximum, enum: values }: Schema): Schema {
  return {
    ...(type && { type }),
    ...(minimum !== undefined && { minimum }),
    ...(maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER && { maximum }),
    ...(values && { enum: values }),
  }
}

const TYPES: Record<string, string> = { array: 'list', object: 'record', integer: 'count' }

/** What both describe, by subject: method, path, ids, parameters by name, key of the body, keys of the answer. */
function ofClient(operation: Operation): Record<string, unknown> {
  const parameters = Object.entries(operation.query).map(([name, parameter]) => [name, schemaOf(parameter)])
  const { method, path, body, envelope } = operation
  return { method, path, ids: idsIn(operation), body, envelope, ...Object.fromEntries(parameters) }
}

function ofSandbox(method: string, path: string, described: Described, documented: Operation): Record<string, unknown> {
  const { parameters = [], requestBody, responses } = described
  const sent = requestBody?.content['application/json'].schema
  const { properties = {} } = responses[200]!.content['application/json'].schema
  const keys = Object.keys(documented.envelope)
  return {
    method: method.toUpperCase(),
    path,
    ids: parameters.filter(one => one.in === 'path').map(({ name }) => name),
    body: sent ? sent.required!.join() : null,
    envelope: Object.fromEntries(keys.map(key => [key, TYPES[properties[key]?.type ?? '']])),
    ...Object.fromEntries(
      parameters.filter(one => one.in === 'query').map(({ name, schema }) => [name, bounds(schema)]),
    ),
  }
}

async function described() {
  const { url } = await open({ conversations: 1 })
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, Described>>
  }
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
}

describe('the operations', () => {
  it('are those that the sandbox describes', async () => {
    const served = (await described()).map(({ operation }) => operation.operationId)
    expect(OPERATIONS.map(({ name }) => name).toSorted()).toEqual(served.toSorted())
  })

  it('agree with it on paths, parameters, bodies and envelopes, but for the differences above', async () => {
    const served = await described()
    const found: Record<string, { sandbox: unknown; client: unknown }> = {}
    for (const operation of OPERATIONS) {
      const { method, path, operation: other } = served.find(one => one.operation.operationId === operation.name)!
      const [client, sandbox] = [ofClient(operation), ofSandbox(method, path, other, operation)]
      for (const subject of new Set([...Object.keys(client), ...Object.keys(sandbox)]))
        if (JSON.stringify(client[subject]) !== JSON.stringify(sandbox[subject]))
          found[`${operation.name} ${subject}`] = { sandbox: sandbox[subject], client: client[subject] }
    }
    const intended = Object.entries(DIFFERENCES).map(([name, { reason: _, ...both }]) => [name, both])
    expect(found).toEqual(Object.fromEntries(intended))
  })

  it('have all records of the described answers in their envelopes', async () => {
    // Answers also have texts, numbers about paging, and what else the document lists beside the records.
    const beside = ['success', 'message', 'total', 'hasMore', 'page', 'limit', 'offset', 'totalStarred', 'nextCursorTs']
    for (const { operation } of await described()) {
      const { envelope } = OPERATIONS.find(({ name }) => name === operation.operationId)!
      const keys = Object.keys(operation.responses[200]!.content['application/json'].schema.properties!)
      const others = keys.filter(key => !beside.includes(key) && !key.startsWith('providers'))
      expect([operation.operationId, others]).toEqual([operation.operationId, Object.keys(envelope)])
    }
  })

  it('are in the order of the API document, a section each', () => {
    expect(OPERATIONS.map(({ section }) => section)).toEqual([...Array(16).keys()].map(index => `4.${index + 1}`))
  })

  it('read with GET, write with POST, PUT and PATCH, and delete with DELETE', () => {
    const methods = { reads: ['GET'], bills: ['GET'], writes: ['POST', 'PUT', 'PATCH'], deletes: ['DELETE'] }
    for (const { effect, method } of OPERATIONS) expect(methods[effect]).toContain(method)
  })
})
