// The streams of the landing: which records a page of each holds, and where in its body.

import { conversation } from '../../catalog/conversation.ts'
import { agent } from '../../catalog/resources/agents.ts'
import { organization, team } from '../../catalog/resources/organizations.ts'
import type { RecordType } from '../../catalog/shape.ts'

/** The record type of each stream's pages, in the order in which they are loaded. */
export const RECORD_OF = {
  agents: agent,
  organizations: organization,
  teams: team,
  conversations: conversation,
} as const

export type LoadedStream = keyof typeof RECORD_OF

const LISTS: Record<string, readonly string[]> = {
  // A listing of agents is a union (notes on the API, "Other endpoints").
  [agent.name]: ['agents', 'starredAgents'],
  [team.name]: ['teams'],
}

/** Keys of a body that hold its records: lists, or one record alone. */
export const listsOf = (record: RecordType): readonly string[] => LISTS[record.name] ?? ['data']

/** True for records whose pages DuckDB may read as they landed; all others are few, and are taken apart first. */
export const isStagedAsLanded = (record: RecordType): boolean => record === conversation
