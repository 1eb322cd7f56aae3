// `GET /v1/tables`: the tables of the snapshot with their columns, as far as the token's SQL sees them.
import { z } from '@hono/zod-openapi'
import type { ColumnClasses } from '../column-classes.ts'
import type { SnapshotReaders } from '../readers/snapshot-readers.ts'
import { describedTable, tablesSeen } from '../tables.ts'
import { snapshotRoute } from './snapshot-route.ts'

const ROUTE = {
  path: '/v1/tables',
  summary: 'List the tables that SQL sees, with their columns',
  scopes: ['sql', 'metrics'],
  in: 'query',
  given: z.object({}),
  answer: { tables: z.array(describedTable) },
} as const

export const tablesRoute = (readers: SnapshotReaders, classes: ColumnClasses) =>
  snapshotRoute(readers, ROUTE, (_, scopes) => tablesSeen(readers, classes, scopes))
