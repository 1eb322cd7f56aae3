// Applies events to agents, organizations and clients: inserts rows for resources that no listing has returned yet, and
// marks deleted ones. Each resource is derived again from all its events, so their order of arrival does not matter.
import { EVENT_TYPES, type ReportedResource } from '../../catalog/events/event-types.ts'
import { isNumbered, type Layout, layoutOf, quoteText } from '../../catalog/layout.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'
import { resourceOfRecord } from '../../catalog/resources/resources.ts'
import { logChanges } from '../changes/log-changes.ts'
import { iso, type Writer } from '../connection.ts'
import { lastNumber } from '../load/merge.ts'
import { markResource } from '../load/missing.ts'
import { type IncomingEvent, idOf } from './incoming.ts'

type Table = ReportedResource['table']

interface Resource {
  layout: Layout
  /** Id column in the resource's own table and in `webhook_events`. */
  id: string
  columns: ReportedResource['columns']
  goesWith: ReportedResource['goesWith']
  types: string[]
  deleting: string[]
}

const RESOURCE_EVENTS = EVENT_TYPES.flatMap(({ name, reportedResource }) =>
  reportedResource ? [{ name, ...reportedResource }] : [],
)
const typesOf = (table: string) => RESOURCE_EVENTS.filter(type => type.table === table)

/** Resources whose tables the catalog declares. */
const RESOURCES: ReadonlyMap<Table, Resource> = new Map(
  RECORD_TYPES.flatMap((record): [Table, Resource][] => {
    const types = typesOf(record.table)
    const [first] = types
    if (!first) return []
    const resource = {
      layout: layoutOf(record),
      id: record.id.column,
      columns: first.columns,
      goesWith: first.goesWith,
      types: types.map(({ name }) => name),
      deleting: types.filter(({ isDeleted }) => isDeleted).map(({ name }) => name),
    }
    return [[first.table, resource]]
  }),
)

interface ResourceOptions {
  workspaceId: string
  nowMs: number
}

const oneOf = (names: readonly string[]): string => names.map(quoteText).join(', ')

/** Fills the temporary table `from_events` with the reports of events about each of `ids`, an SQL relation. */
async function deriveFromEvents(
  writer: Writer,
  { id, columns, types, deleting }: Resource,
  { workspaceId, ids }: { workspaceId: string; ids: string },
): Promise<void> {
  const values = Object.entries(columns).map(([column, field]) => {
    const value = `resource->>${quoteText(`$.${field}`)}`
    return `, arg_max(${value}, _fetched_at) FILTER (${value} IS NOT NULL) AS ${column}`
  })
  await writer.run(`CREATE OR REPLACE TEMP TABLE from_events AS
    SELECT ${id} AS id, max(_as_of) AS newest, max(_as_of) FILTER (type NOT IN (${oneOf(deleting)})) AS alive_at,
      max(_as_of) FILTER (type IN (${oneOf(deleting)})) AS deleted_at${values.join('')}
    FROM webhook_events
    WHERE workspace_id = ${quoteText(workspaceId)} AND type IN (${oneOf(types)}) AND ${id} IN (${ids}) GROUP BY ALL`)
}

/** Marks resources as deleted if the resource that they belong to is deleted. */
async function cascadeDeletions(writer: Writer, { goesWith }: Resource, workspaceId: string): Promise<void> {
  if (!goesWith) return
  const deleting = typesOf(goesWith.table).filter(({ isDeleted }) => isDeleted)
  await writer.run(`UPDATE from_events SET deleted_at = greatest(from_events.deleted_at, o.gone_at)
    FROM (SELECT ${goesWith.column} AS id, max(_as_of) AS gone_at FROM webhook_events
      WHERE workspace_id = ${quoteText(workspaceId)} AND type IN (${oneOf(deleting.map(({ name }) => name))}) GROUP BY ALL) o
    WHERE from_events.${goesWith.column} = o.id`)
}

async function insertMissing(writer: Writer, resource: Resource, options: ResourceOptions): Promise<void> {
  const { layout, id, columns } = resource
  const { table } = layout.record
  const names = Object.keys(columns)
  const workspace = quoteText(options.workspaceId)
  const numbered = isNumbered(layout)
  const number = numbered ? `, ${await lastNumber(writer, layout)} + row_number() OVER ()` : ''
  await writer.run(`INSERT INTO ${table}
      (workspace_id, ${id}, ${names.join(', ')}, _version, _as_of, _fetched_at, _loaded_at, _source, _complete${numbered ? ', _record' : ''})
    SELECT ${workspace}, id, ${names.join(', ')}, newest, newest, newest, TIMESTAMPTZ '${iso(options.nowMs)}', 'webhook', false${number}
    FROM from_events WHERE NOT EXISTS (SELECT 1 FROM ${table} r WHERE r.workspace_id = ${workspace} AND r.${id} = from_events.id)`)
}

/** Updates existing rows. A fetched row keeps its columns; only its marks change, and only by events after its request. */
async function updateExisting(
  writer: Writer,
  resource: Resource,
  { workspaceId, nowMs }: ResourceOptions,
): Promise<void> {
  const { layout, id, columns } = resource
  const { table } = layout.record
  const ofEvents = (column: string, value: string) =>
    `${column} = CASE WHEN r._complete THEN r.${column} ELSE ${value} END`
  const sets = [
    ...Object.keys(columns).map(column => ofEvents(column, `t.${column}`)),
    ...['_version', '_as_of', '_fetched_at'].map(column => ofEvents(column, 't.newest')),
    ofEvents('_loaded_at', `TIMESTAMPTZ '${iso(nowMs)}'`),
    // A resource that was fetched by id is fetched again if it has changed since.
    '_changed_at = t.alive_at',
    '_dirty_since = CASE WHEN r._complete AND t.alive_at >= r._fetched_at THEN t.alive_at END',
    `_deleted_at = CASE WHEN (t.alive_at IS NULL OR t.deleted_at >= t.alive_at) AND (NOT r._complete OR t.deleted_at >= r._fetched_at)
       THEN t.deleted_at END`,
  ]
  await writer.run(`UPDATE ${table} AS r SET ${sets.join(', ')}
    FROM from_events t WHERE r.workspace_id = ${quoteText(workspaceId)} AND r.${id} = t.id`)
}

async function updateResource(
  writer: Writer,
  resource: Resource,
  options: ResourceOptions & { ids: string },
): Promise<void> {
  await deriveFromEvents(writer, resource, options)
  await cascadeDeletions(writer, resource, options.workspaceId)
  const keys = `SELECT ${quoteText(options.workspaceId)} AS workspace_id, id AS ${resource.id} FROM from_events`
  await logChanges(writer, { table: resource.layout.record.table, keys })
  await insertMissing(writer, resource, options)
  await updateExisting(writer, resource, options)
  const declared = resourceOfRecord(resource.layout.record)
  if (declared) await markResource(writer, options.workspaceId, declared)
}

function idsOf(table: Table, events: readonly IncomingEvent[]): string[] {
  const ids = events.flatMap(({ type, payload }) => {
    const id = type?.reportedResource?.table === table ? idOf(payload[type.reportedResource.id]) : null
    return id === null ? [] : [id]
  })
  return [...new Set(ids)]
}

/** Appends ids instead of writing them into SQL, where a NUL in an id would end the statement. */
async function stageIds(writer: Writer, name: string, ids: readonly string[]): Promise<void> {
  await writer.run(`CREATE OR REPLACE TEMP TABLE ${name} (id VARCHAR)`)
  await writer.appendTexts(
    name,
    ids.map(id => [id]),
  )
}

/** Applies events, which `webhook_events` already contains, to their resources, inside the caller's transaction. */
export async function applyToResources(
  writer: Writer,
  options: ResourceOptions,
  events: readonly IncomingEvent[],
): Promise<void> {
  for (const [table, resource] of RESOURCES) {
    const { goesWith, id } = resource
    const own = idsOf(table, events)
    const others = goesWith ? idsOf(goesWith.table, events) : []
    if (own.length + others.length === 0) continue
    await stageIds(writer, 'touched_ids', own)
    await stageIds(writer, 'touched_others', others)
    const withOthers = goesWith
      ? ` UNION SELECT ${id} FROM ${table} WHERE workspace_id = ${quoteText(options.workspaceId)} AND ${goesWith.column} IN (FROM touched_others)`
      : ''
    await updateResource(writer, resource, { ...options, ids: `SELECT id FROM touched_ids${withOthers}` })
  }
}

/** Applies events whose payloads are lost, using their rows in `webhook_events`. */
export async function applyRowsToResources(writer: Writer, options: ResourceOptions): Promise<void> {
  for (const [table, resource] of RESOURCES) {
    const { goesWith, id, types } = resource
    const lost = `SELECT DISTINCT ${id} FROM webhook_events WHERE workspace_id = ${quoteText(options.workspaceId)} AND payload_file IS NULL`
    const parents = goesWith
      ? ` UNION SELECT ${id} FROM ${table} WHERE ${goesWith.column} IN (SELECT ${goesWith.column} FROM webhook_events WHERE workspace_id = ${quoteText(options.workspaceId)} AND payload_file IS NULL)`
      : ''
    await updateResource(writer, resource, { ...options, ids: `${lost} AND type IN (${oneOf(types)})${parents}` })
  }
}

/** Runs after fetched rows have replaced stored ones: derives the marks of `ids`, an SQL relation, from events again. */
export async function markDeleted(
  writer: Writer,
  options: ResourceOptions & { table: string; ids: string },
): Promise<void> {
  const resource = RESOURCES.get(options.table as Table)
  if (!resource) return
  const [any] = await writer.rows(
    `SELECT 1 FROM webhook_events WHERE workspace_id = ${quoteText(options.workspaceId)} AND type IN (${oneOf(resource.types)}) LIMIT 1`,
  )
  if (any) await updateResource(writer, resource, options)
}
