// The OpenAPI 3.1 document of the sandbox's routes, derived from their table and schemas.
import { z } from 'zod'
import type { Route } from './routes/route.ts'

export const OPENAPI_PATH = '/openapi.json'

const Failure = z.object({
  message: z.string(),
  code: z.string(),
  issues: z.array(z.object({ message: z.string() })),
})

const STATUS_TEXTS: Record<number, string> = {
  400: 'A parameter or the body is not valid, or the key exists',
  401: 'The bearer token is missing or not valid',
  403: 'Not permitted',
  404: 'Not found',
  409: 'Taken by another one',
  429: 'Too many requests',
}

/** Answers are described as served without faults, hostile records and readings other than the defaults. */
export function openApiDocument(routes: readonly Route[]): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) {
    paths[route.path] ??= {}
    paths[route.path]![route.method.toLowerCase()] = operationOf(route)
  }
  return {
    openapi: '3.1.1',
    info: { title: 'Agent Management API, as the sandbox serves it', version: 'v3' },
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: schemaOf(Failure, 'output') },
    },
  }
}

function operationOf(route: Route): object {
  const { operation, summary, body } = route
  const parameters = [...pathParameters(route), ...queryParameters(route)]
  return {
    operationId: operation,
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: json(schemaOf(body, 'input')) } }),
    responses: responsesOf(route),
  }
}

const namesIn = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)

const pathParameters = ({ path }: Route): object[] =>
  namesIn(path).map(name => ({ name, in: 'path', required: true, schema: { type: 'string', minLength: 1 } }))

const queryParameters = ({ query }: Route): object[] =>
  Object.entries(query.shape).map(([name, type]) => ({
    name,
    in: 'query',
    required: false,
    schema: schemaOf(type as z.ZodType, 'input'),
  }))

function responsesOf({ path, operation, response, errors = [] }: Route): Record<string, object> {
  const statuses = [400, 401, ...(namesIn(path).length > 0 ? [404] : []), ...errors].toSorted((a, b) => a - b)
  const failures = statuses.map(status => [
    status,
    { description: STATUS_TEXTS[status], content: json({ $ref: '#/components/schemas/Error' }) },
  ])
  const csv = operation === 'exportConversations' && { 'text/csv': { schema: { type: 'string' } } }
  const success = { description: 'Success', content: { ...json(schemaOf(response, 'output')), ...csv } }
  return { 200: success, ...Object.fromEntries(failures) }
}

const json = (schema: object) => ({ 'application/json': { schema } })

/** `input`: what a caller may send; `output`: what an answer has, and nothing else. */
function schemaOf(type: z.ZodType, io: 'input' | 'output'): object {
  const { $schema: _, ...schema } = z.toJSONSchema(type, { target: 'draft-2020-12', io })
  return schema
}
