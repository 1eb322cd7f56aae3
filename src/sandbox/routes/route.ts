// A route of the API: method, path template and handler, and the matching of paths.
import { z } from 'zod'
import type { FaultKind } from '../faults/fault-settings.ts'
import type { FaultPlan } from '../faults/faults.ts'
import type { RequestKind } from '../request-log.ts'
import type { SandboxService } from '../service.ts'
import type { Answer } from './answer.ts'

export interface RouteRequest {
  /** Values of the path's parameters by name, decoded. */
  ids: Record<string, string>
  params: URLSearchParams
  body: string
  nowMs: number
  plan: FaultPlan
}

/** A successful answer with these fields beside `success` and `message` (API document, section 1). */
export const envelope = <S extends z.ZodRawShape>(fields: S) =>
  z.object({ success: z.literal(true), message: z.string(), ...fields })

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** As the API document writes it: `/v3/orgs/{orgId}`. */
  path: string
  /** Its name and purpose in the OpenAPI document. */
  operation: string
  summary: string
  /** In the request log. */
  kind: RequestKind
  faultKind: FaultKind
  /** Its query parameters, all as text or whole numbers. */
  query: z.ZodObject
  /** The JSON body that it reads. */
  body?: z.ZodObject
  response: z.ZodType
  /** Statuses of its errors other than 400, 401 and 404. */
  errors?: readonly number[]
  /** The handler takes the faults that refuse a request, and checks the parameters: the export's rate limit comes between. */
  metered?: true
  answer(service: SandboxService, request: RouteRequest): Answer
}

/** Routes with the same path. */
export interface Address {
  routes: Route[]
  ids: Record<string, string>
}

const NAME = /\{(\w+)\}/g

/** Finds the routes of a path among those of a table. */
export function createMatcher(table: readonly Route[]): (path: string) => Address | undefined {
  const paths = new Set(table.map(({ path }) => path))
  const patterns = [...paths].map(path => ({
    routes: table.filter(route => route.path === path),
    names: [...path.matchAll(NAME)].map(([, name]) => name!),
    pattern: new RegExp(`^${path.replaceAll(NAME, '([^/]+)')}$`),
  }))
  return path => {
    for (const { routes, names, pattern } of patterns) {
      const encoded = pattern.exec(path)?.slice(1)
      const values = encoded?.map(decode)
      if (values?.every(value => value !== undefined))
        return { routes, ids: Object.fromEntries(names.map((name, place) => [name, values[place]!])) }
    }
    return undefined
  }
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
