// Every route of the API that the sandbox serves.
import { SEARCH_ROUTE } from './agents.ts'
import { AUDIT_LOG_ROUTE } from './audit-log.ts'
import { CRAWLER_ROUTES } from './crawler.ts'
import { EXPORT_ROUTE } from './export.ts'
import { METRIC_ROUTES } from './metrics.ts'
import { ORGANIZATION_ROUTES } from './organizations.ts'
import type { Route } from './route.ts'
import { TOOL_ROUTES } from './tools.ts'
import { VARIABLE_ROUTES } from './variables.ts'
import { VOICES_ROUTE } from './voices.ts'
import { WORKSPACE_ROUTE } from './workspaces.ts'

export const ROUTES: readonly Route[] = [
  ...TOOL_ROUTES,
  ...VARIABLE_ROUTES,
  AUDIT_LOG_ROUTE,
  WORKSPACE_ROUTE,
  ...METRIC_ROUTES,
  VOICES_ROUTE,
  ...CRAWLER_ROUTES,
  EXPORT_ROUTE,
  ...ORGANIZATION_ROUTES,
  SEARCH_ROUTE,
]
