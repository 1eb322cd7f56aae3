// Carries events over that no file of the spool supplies, because their archive files expired or are damaged: copies their rows from the
// warehouse that a replay replaces. Their payloads are lost, so what they changed is derived from the rows.

import { tablesOf } from '../../catalog/ddl.ts'
import {
  EVENT_RECORDS,
  modelHistory,
  OWN_RECORDS,
  transcript,
  webhookEvent,
} from '../../catalog/events/event-records.ts'
import { layoutOf, quoteText } from '../../catalog/layout.ts'
import type { Writer } from '../connection.ts'
import { lastNumber, renumbered } from '../load/record-numbers.ts'
import { copyAbsent, copyRecords, mergeCounts, REBUILT, sharedColumns } from './preserve-rows.ts'

const EVENTS = webhookEvent.table

/** Conversations that a lost event names. */
const OF_LOST = '(agent_id, conversation_id) IN (SELECT agent_id, conversation_id FROM lost_events)'

/** Finds the events that the rebuilt warehouse lacks. @returns how many */
async function findLost(from: Writer, here: string): Promise<number> {
  await from.run(`CREATE OR REPLACE TEMP TABLE lost_events AS SELECT event_id, agent_id, conversation_id FROM ${EVENTS} AS l
    WHERE ${here} AND NOT EXISTS (SELECT 1 FROM ${REBUILT}.${EVENTS} AS r WHERE r.workspace_id = l.workspace_id AND r.event_id = l.event_id)`)
  const [row] = await from.rows<{ n: string }>('SELECT count(*)::VARCHAR AS n FROM lost_events')
  return Number(row!.n)
}

/** Copies the rows of lost events in `webhook_events`, without the addresses of their payloads, and in the tables of their types. */
async function copyEvents(from: Writer, here: string): Promise<void> {
  const columns = await sharedColumns(from, EVENTS)
  const kept = columns.split(', ').filter(column => !['"payload_file"', '"payload_offset"'].includes(column))
  const lost = `${here} AND event_id IN (SELECT event_id FROM lost_events)`
  await from.run(`INSERT INTO ${REBUILT}.${EVENTS} BY NAME SELECT ${kept.join(', ')} FROM ${EVENTS} WHERE ${lost}`)
  for (const layout of [...OWN_RECORDS.values()].map(record => layoutOf(record))) {
    const rows = layout.children.length > 0 ? renumbered(await lastNumber(from, layout, REBUILT)) : '*'
    for (const { name } of tablesOf(layout)) {
      const shared = await sharedColumns(from, name)
      await from.run(
        `INSERT INTO ${REBUILT}.${name} BY NAME SELECT ${rows} FROM (SELECT ${shared} FROM ${name} WHERE ${lost})`,
      )
    }
  }
}

/** Copies the findings in lost events. */
async function copyFindings(from: Writer, here: string): Promise<void> {
  const columns = await sharedColumns(from, '_quarantine')
  await from.run(`INSERT INTO ${REBUILT}._quarantine BY NAME SELECT ${columns} FROM _quarantine
    WHERE ${here} AND record = ${quoteText(webhookEvent.name)} AND split_part(file, '#', -1) IN (SELECT event_id FROM lost_events)`)
  const records = EVENT_RECORDS.map(({ name }) => quoteText(name)).join(', ')
  const ofEvents = `${here} AND l.record IN (${records})`
  await mergeCounts(from, ofEvents, '_drift', ['record', 'path'])
  await mergeCounts(from, ofEvents, '_issues', ['record', 'path', 'issue'])
}

/**
 * Copies the rows of a workspace's lost events into the rebuilt warehouse. Afterwards `applyPreservedEvents` must run on that warehouse.
 * @returns how many events were lost
 */
export async function preserveEvents(from: Writer, workspaceId: string): Promise<number> {
  const here = `workspace_id = ${quoteText(workspaceId)}`
  const lost = await findLost(from, here)
  if (lost === 0) return 0
  await copyEvents(from, here)
  await copyFindings(from, here)
  for (const record of [transcript, modelHistory]) await copyRecords(from, layoutOf(record), `${here} AND ${OF_LOST}`)
  const sighting = ['agent_id', 'conversation_id', 'observed_at', 'source']
  await copyAbsent(from, `${here} AND source = 'webhook' AND ${OF_LOST}`, 'conversation_observations', sighting)
  const patch = ['agent_id', 'conversation_id', 'key', 'fetched_at']
  await copyAbsent(from, `${here} AND ${OF_LOST}`, 'conversation_patches', patch)
  return lost
}
