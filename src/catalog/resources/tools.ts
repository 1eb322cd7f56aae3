// Tools and variables of an agent (sections 2.1, 2.2, 4.2 and 4.4).
import { DAY } from '../../core/time.ts'
import { any, boolean, moment, objects, type RecordType, text, texts } from '../shape.ts'
import type { Resource } from './resource.ts'

/** Facts that variables and fields of tools share (section 2.2); only key and values differ. */
const VARIABLE_FACTS = {
  required: boolean('Required'),
  reusable: boolean('Reusable'),
  isEnv: boolean('Environment variable: its values are secret'),
  isSystem: boolean('Of the system'),
  isGlobal: boolean('Persists across conversation nodes'),
  agentId: text('Agent that it was made for', { column: 'owner_agent_id' }),
  userId: text('Id of who made it', { pii: 'staff' }),
} as const

const tool: RecordType = {
  name: 'tool',
  table: 'tools',
  about: 'One row for each tool of an agent, as the latest list returned it',
  // The API document does not say that ids are unique across agents: several agents may list the same global tool.
  id: { key: 'id', column: 'tool_id' },
  perAgent: true,
  fields: {
    id: text('Id of the tool', { column: 'tool_id' }),
    name: text('Name'),
    description: text('When the AI shall use it', { pii: 'content' }),
    isDefault: boolean('Default tool'),
    method: text('HTTP method, e.g. GET', { pii: 'word' }),
    serverUrl: text('Address that it calls', { pii: 'content' }),
    createdAt: moment('Creation, as sent', 'created_at', { column: 'created' }),
    updatedAt: moment('Last change, as sent', 'updated_at', { column: 'updated' }),
    disabled: boolean('Disabled'),
    isExtTool: boolean('Imported from an external voice platform'),
    extId: text('Id at the external platform'),
    isGlobal: boolean('Global'),
    agentId: text('Agent that it was made for', { column: 'owner_agent_id' }),
    userId: text('Id of who made it', { pii: 'staff' }),
    backchannellingPhrases: any('Phrases said while it runs, as sent: a list', { pii: 'content' }),
    toolsSettings: any('Settings, as sent', { pii: 'content' }),
    variablesIds: texts('Variables that a tool uses', 'tool_variables', 'variable_id'),
    channels: texts('Channels that a tool is restricted to; none: all may use it', 'tool_channels', 'channel', {
      ...{ channel: 'lower', pii: 'word' },
    }),
    fields: objects('Fields that a tool sends', 'tool_fields', {
      id: text('Id of the field', { column: 'field_id' }),
      in: text('Where it is carried, e.g. query', { pii: 'word', column: 'location' }),
      type: text('Type, e.g. string', { pii: 'word' }),
      key: text('Key', { pii: 'label', column: 'field_key' }),
      value: any('Value', { pii: 'content' }),
      defaultValue: any('Default value', { pii: 'content' }),
      description: text('Description', { pii: 'content' }),
      ...VARIABLE_FACTS,
    }),
  },
}

export const TOOLS = {
  stream: 'tools',
  answer: 'tools',
  path: '/v3/agents/{agentId}/tools',
  parent: 'agents',
  paging: 'list',
  envelope: ['data'],
  freshness: { everyMs: DAY, changedAt: ['_changed_at', 'last_modified'] },
  record: tool,
  // `redaction.ts` also removes values of fields that are named like a credential (`Authorization`).
  secrets: ['serverUrlSecret', 'fields[isEnv].value', 'fields[isEnv].defaultValue'],
  absence: 'not listed',
  landedAs: 'tools',
} as const satisfies Resource

const variable: RecordType = {
  name: 'variable',
  table: 'variables',
  about: 'One row for each variable of an agent, as the latest list returned it',
  // Keys are unique within an agent; the document does not say that ids are unique across agents.
  id: { key: 'id', column: 'variable_id' },
  perAgent: true,
  fields: {
    id: text('Id of the variable, as instructions and tools name it', { column: 'variable_id' }),
    key: text('Key', { pii: 'label', column: 'variable_key' }),
    description: text('Description', { pii: 'content' }),
    in: text('Where it is carried, e.g. query', { pii: 'word', column: 'location' }),
    type: text('Type, e.g. string', { pii: 'word' }),
    value: any('Current value; none where the variable is secret', { pii: 'content' }),
    defaultValue: any('Default value; none where the variable is secret', { pii: 'content' }),
    ...VARIABLE_FACTS,
  },
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
