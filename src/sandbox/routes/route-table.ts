// Every route of the API that the sandbox serves.
import { SEARCH_ROUTE } from './agents.ts'
import { EXPORT_ROUTE } from './export.ts'
import { ORGANIZATION_ROUTES } from './organizations.ts'
import type { Route } from './route.ts'
import { TOOL_ROUTES } from './tools.ts'

export const ROUTES: readonly Route[] = [SEARCH_ROUTE, EXPORT_ROUTE, ...TOOL_ROUTES, ...ORGANIZATION_ROUTES]
