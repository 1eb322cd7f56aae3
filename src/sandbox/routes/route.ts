// A route of the API: method, path template and handler, and the matching of paths.
import type { z } from 'zod'
import type { SandboxClock } from '../clock.ts'
import type { FaultPlan, Faults } from '../faults/faults.ts'
import type { Conditions } from '../limits/conditions.ts'
import type { Quota, RateLimit } from '../limits/limits.ts'
import type { ResolvedOptions } from '../options.ts'
import type { RequestKind, RequestLog } from '../request-log.ts'
import type { Webhooks } from '../webhooks.ts'
import type { OrganizationList } from '../world/organizations.ts'
import type { RecordCache, World } from '../world/world.ts'
import type { WrittenState } from '../written-state.ts'
import type { Answer } from './answer.ts'

/** Data and state that requests are answered from. */
export interface SandboxService {
  options: ResolvedOptions
  world: World
  clock: SandboxClock
  hour: RateLimit
  quota: Quota
  records: RecordCache
  faults: Faults
  conditions: Conditions
  log: RequestLog
  organizations: OrganizationList
  /** State that callers have written. */
  state: WrittenState
  webhooks: Webhooks
}

export interface RouteRequest {
  /** Values of the path's parameters by name, decoded. */
  ids: Record<string, string>
  params: URLSearchParams
  body: string
  nowMs: number
  plan: FaultPlan
}

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path as in the API document: `/v3/orgs/{orgId}`. */
  path: string
  /** Determines its faults and its name in the request log. */
  kind: RequestKind
  /** Its query parameters; omitted for none. */
  query?: z.ZodObject
  answer(service: SandboxService, request: RouteRequest): Answer
}

/** An address with the routes that share its path. */
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
