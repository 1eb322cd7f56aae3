// Variables of an agent (sections 2.2 and 4.4).
import { DAY } from '../../core/time.ts'
import type { RecordType } from '../shape.ts'
import { any, boolean, text } from '../shape.ts'
import type { Resource } from './resource.ts'

/** What variables and fields of tools have in common beside key and values: they share one shape (section 2.2). */
export const VARIABLE_FACTS = {
  required: boolean('Required'),
  reusable: boolean('Reusable'),
  isEnv: boolean('Environment variable: its values are secret'),
  isSystem: boolean('Of the system'),
  isGlobal: boolean('Persists across conversation nodes'),
  agentId: text('Agent that it was made for', { column: 'owner_agent_id' }),
  userId: text('Id of who made it', { pii: 'staff' }),
} as const

const variable: RecordType = {
  name: 'variable',
  table: 'variables',
  about: 'One row for each variable of an agent, as the latest list returned it',
  // Keys are unique within an agent; nothing says that ids are unique across agents.
  id: { key: 'id', column: 'variable_id' },
  perAgent: true,
  fields: {
    id: text('Id of the variable, as instructions and tools name it', { column: 'variable_id' }),
    key: text('Key', { column: 'variable_key' }),
    description: text('Description'),
    in: text('Where it is carried, e.g. query', { column: 'location' }),
    type: text('Type, e.g. string'),
    value: any('Current value; none where the variable is secret', { pii: 'content' }),
    defaultValue: any('Default value; none where the variable is secret', { pii: 'content' }),
    ...VARIABLE_FACTS,
  },
  derived: [],
  modifiedKey: null,
  extra: 'unknown',
}

export const VARIABLES = {
  stream: 'variables',
  answer: 'variables',
  path: '/v3/agents/{agentId}/variables',
  parent: 'agents',
  paging: 'list',
  envelope: ['data'],
  freshness: { everyMs: DAY, changedAt: ['_changed_at', 'last_modified'] },
  record: variable,
  // `redaction.ts` also removes values of variables that are named like a credential (`Authorization`).
  secrets: ['[isEnv].value', '[isEnv].defaultValue'],
  absence: 'not listed',
  landedAs: 'variables',
} as const satisfies Resource
