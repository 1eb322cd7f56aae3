import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import { open } from '../caller.ts'
import { addressOf, BODIES, DOCUMENTED } from './documented.ts'
import { ask } from './writer.ts'

interface Operation {
  operationId: string
  parameters?: { name: string; in: string; required: boolean; schema: { minimum?: number; maximum?: number } }[]
  requestBody?: { content: { 'application/json': { schema: object } } }
  responses: Record<string, { content: Record<string, { schema: object }> }>
}

interface Document {
  openapi: string
  security: object[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, object> }
}

const documentOf = async (sandbox: Sandbox): Promise<Document> =>
  (await (await fetch(`${sandbox.url}/openapi.json`)).json()) as Document

/** The operations, deletions last. */
function operationsOf({ paths }: Document) {
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  return all.toSorted((a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'))
}

/** What is wrong with a body, by the schema of an answer; undefined if nothing is. */
function problem({ components }: Document, { responses }: Operation, status: number, body: unknown) {
  const answer = responses[status]
  if (answer === undefined) return `${status} is not described`
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  // A reference is resolved within the schema itself.
  const validate = ajv.compile({ ...answer.content['application/json']!.schema, components })
  return validate(body) ? undefined : ajv.errorsText(validate.errors)
}

describe('the OpenAPI document', () => {
  it('is a valid one of version 3.1, and needs no token', async () => {
    const validator = new Validator()
    const { valid, errors } = await validator.validate(await documentOf(await open()))
    expect(errors).toBeUndefined()
    expect([valid, validator.version]).toEqual([true, '3.1'])
  })

  it('describes each documented endpoint once, with the bearer token', async () => {
    const document = await documentOf(await open())
    const operations = operationsOf(document)
    expect(operations.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(DOCUMENTED.toSorted())
    expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(16)
    expect(document.security).toEqual([{ bearer: [] }])
  })

  it('describes the answers and errors of all routes as they are', async () => {
    const sandbox = await open({ conversations: 30 })
    const document = await documentOf(sandbox)
    for (const { method, path, operation } of operationsOf(document)) {
      const address = await addressOf(sandbox, path)
      const sent = BODIES[`${method} ${path}`]
      const { status, body } = await ask(sandbox, method, address, sent)
      expect([path, status, problem(document, operation, status, body)]).toEqual([path, 200, undefined])
      if (!path.includes('{')) continue
      const unknown = path.replace(/\{(?:agentId|orgId|jobId|id)\}/, 'none').replaceAll(/\{\w+\}/g, 'ws_demo')
      const refused = await ask(sandbox, method, unknown, sent)
      expect([path, problem(document, operation, refused.status, refused.body)]).toEqual([path, undefined])
      expect([403, 404]).toContain(refused.status)
    }
  })

  it('has the ranges of parameters that the routes accept', async () => {
    const sandbox = await open({ conversations: 30 })
    for (const { method, path, operation } of operationsOf(await documentOf(sandbox))) {
      const address = await addressOf(sandbox, path)
      for (const { name, schema } of operation.parameters?.filter(one => one.in === 'query') ?? []) {
        const { minimum, maximum = Number.MAX_SAFE_INTEGER } = schema
        if (minimum === undefined) continue
        const status = async (value: number) => (await ask(sandbox, method, `${address}?${name}=${value}`)).status
        expect([path, name, await status(minimum), await status(minimum - 1)]).toEqual([path, name, 200, 400])
        if (maximum === Number.MAX_SAFE_INTEGER) continue
        expect([path, name, await status(maximum), await status(maximum + 1)]).toEqual([path, name, 200, 400])
      }
    }
  })

  it('accepts the bodies that the routes accept, and not those without a required field', async () => {
    const sandbox = await open({ conversations: 30 })
    for (const { method, path, operation } of operationsOf(await documentOf(sandbox))) {
      if (operation.requestBody === undefined) continue
      const validate = new Ajv2020({ strict: false }).compile(operation.requestBody.content['application/json'].schema)
      const address = await addressOf(sandbox, path)
      for (const body of [BODIES[`${method} ${path}`], {}, { tool: {} }, { variable: {} }, { updates: 1 }]) {
        const { status } = await ask(sandbox, method, address, body)
        expect([path, body, status === 200]).toEqual([path, body, validate(body)])
      }
    }
  })
})
