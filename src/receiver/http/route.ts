// Routes a request by its method and URL.
import type { Refusal } from '../refusals.ts'

export type Route =
  | { kind: 'webhook'; addressed: string | null }
  | { kind: 'health' | 'ready' | 'metrics' }
  | { kind: 'refused'; reason: Refusal; allow?: string }

const PAGES = { '/health': 'health', '/ready': 'ready', '/metrics': 'metrics' } as const

const isPage = (path: string): path is keyof typeof PAGES => Object.hasOwn(PAGES, path)

/** The workspace in `/webhooks/<workspace>`; null for `/webhooks`; undefined for any other path. */
function addressedBy(path: string): string | null | undefined {
  if (path === '/webhooks' || path === '/webhooks/') return null
  const [, encoded] = /^\/webhooks\/([^/]+)\/?$/.exec(path) ?? []
  try {
    return encoded && decodeURIComponent(encoded)
  } catch {
    return undefined
  }
}

/** The route of nearly all requests. */
const WEBHOOKS: Route = { kind: 'webhook', addressed: null }

export function routeOf(method: string, target: string): Route {
  if (target === '/webhooks' && method === 'POST') return WEBHOOKS
  const [path] = target.split('?') as [string]
  if (isPage(path)) {
    return method === 'GET' || method === 'HEAD'
      ? { kind: PAGES[path] }
      : { kind: 'refused', reason: 'wrong-method', allow: 'GET, HEAD' }
  }
  const addressed = addressedBy(path)
  if (addressed === undefined) return { kind: 'refused', reason: 'not-found' }
  return method === 'POST' ? { kind: 'webhook', addressed } : { kind: 'refused', reason: 'wrong-method', allow: 'POST' }
}
