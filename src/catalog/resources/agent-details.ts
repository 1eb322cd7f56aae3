// Details of an agent that only the whole record, or the listing around it, shows: its settings as keys and values, its
// tools with their names, its tags, and its star.
import { ExactNumber, writeExactly } from '../../json/exact-json.ts'
import { isObject, isScalar } from '../inspection/inspect.ts'
import { isExact, numberIn } from '../inspection/unread-values.ts'
import { boolean, type Computed, type Fields, number, objects, text } from '../shape.ts'
import { idOf } from './resource.ts'

/** The second list of a listing: the starred agents. */
export const STARRED_LIST = 'starredAgents'

/** Returns the ids in the list of starred agents in the body of one page; null if the page has no such list. */
export function starredIdsIn(body: unknown): string[] | null {
  const list = isObject(body) ? body[STARRED_LIST] : null
  return Array.isArray(list) ? list.flatMap(entry => (isObject(entry) && idOf(entry.ID)) || []) : null
}

/** Returns the id of an agent's record. */
export const agentIdOf = (record: unknown): string | null => (isObject(record) ? idOf(record.ID) : null)

type Sent = Readonly<Record<string, unknown>>

const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

const isValue = (value: unknown): boolean => value !== null && value !== undefined && value !== '' && isScalar(value)

const asText = (value: unknown): string => {
  if (value instanceof ExactNumber) return value.text
  return isScalar(value) ? String(value) : writeExactly(value)
}

/** Returns the element itself if it is a scalar, else the first scalar under one of the keys; null if there is none, or an empty text. */
function scalarIn(element: unknown, keys: readonly string[]): string | null {
  if (isValue(element)) return asText(element)
  const key = isObject(element) ? keys.find(name => isValue(element[name])) : undefined
  return key === undefined ? null : asText((element as Sent)[key])
}

/** True for objects whose members are settings, such as `vgOptions`. Others, such as `kbTagsDataMap`, are keyed by data. */
const holdsSettings = (key: string): boolean => /^vg_|(?:Options|Settings|Config)$/.test(key)

/** Returns the settings in a value: each scalar and each list below it, by its path. */
function settingsIn(value: unknown, path: string): [string, unknown][] {
  if (value === null || value === undefined) return []
  if (!isObject(value)) return [[path, value]]
  return Object.entries(value).flatMap(([key, inner]) => settingsIn(inner, `${path}.${key}`))
}

/** Returns the settings without a column. Of duplicate paths the later value counts, as for keys. */
function settingsOf(sent: Sent, declared: Fields): Record<string, unknown>[] {
  const found = Object.entries(sent)
    .filter(([key, value]) => !Object.hasOwn(declared, key) && (isScalar(value) || holdsSettings(key)))
    .flatMap(([key, value]) => settingsIn(value, key))
  return [...new Map(found)].map(([setting, value]) => ({
    setting,
    value_text: asText(value),
    value_number: isExact(value) ? numberIn(value) : null,
  }))
}

const ID_KEYS = ['id', 'toolId', 'ID']

/** Returns the assigned tools, then those that the record contains without assigning them. */
function toolsOf({ assignedToolsIds, tools }: Sent): Record<string, unknown>[] {
  const held = new Map(
    listIn(tools).flatMap((tool): [string, string | null][] => {
      const id = isObject(tool) ? scalarIn(tool, ID_KEYS) : null
      return id === null ? [] : [[id, scalarIn((tool as Sent).name, [])]]
    }),
  )
  const assigned = new Set(listIn(assignedToolsIds).flatMap(entry => scalarIn(entry, ID_KEYS) ?? []))
  return [...new Set([...assigned, ...held.keys()])].map(id => ({
    tool_id: id,
    tool_name: held.get(id) ?? null,
    is_assigned: assigned.has(id),
  }))
}

const TAG_KEYS = ['name', 'label', 'tag', 'title', 'id']

function tagsOf({ kbTags, convoTags, marketplace }: Sent): Record<string, unknown>[] {
  const lists = { kb: kbTags, conversation: convoTags, marketplace: isObject(marketplace) ? marketplace.tags : null }
  return Object.entries(lists).flatMap(([kind, list]) =>
    listIn(list).flatMap(entry => {
      const tag = scalarIn(entry, TAG_KEYS)
      return tag === null ? [] : [{ kind, tag }]
    }),
  )
}

/** True if the list of starred agents contains the agent. If it does not, or is unknown, the agent's own field decides. */
function isStarred(sent: Sent, { list, starredIds }: Parameters<Computed['from']>[1]): boolean | null {
  if (list === STARRED_LIST || starredIds?.has(agentIdOf(sent) ?? '')) return true
  const own = isScalar(sent.starred) ? asText(sent.starred).trim().toLowerCase() : null
  if (own === 'true' || own === 'false') return own === 'true'
  return starredIds ? false : null
}

/** Returns the details of an agent whose declared fields are `declared`. */
export const agentDetails = (declared: Fields): Computed => ({
  fields: {
    is_starred: boolean('Starred: in the list of starred agents, else as `starred` says; NULL: not known'),
    agent_tools: objects('Tools of an agent', 'agent_tools', {
      tool_id: text('Id of the tool'),
      tool_name: text("Name, where the agent's record holds the tool; see also `tools`"),
      is_assigned: boolean('The agent may use it; otherwise its record only holds it'),
    }),
    agent_tags: objects('Tags that an agent offers or has', 'agent_tags', {
      kind: text('Kind: kb (of its knowledge base), conversation (for its conversations) or marketplace'),
      tag: text('Tag', { pii: 'label' }),
    }),
    agent_settings: objects('Settings of an agent that have no column, to compare configurations', 'agent_settings', {
      setting: text('Path of the setting in the record, e.g. vg_temperature or vgOptions.fallbackModel', {
        pii: 'code',
      }),
      value_text: text('Value as text; a list as JSON', { pii: 'content' }),
      value_number: number('Value as a number, where it is one', { pii: 'content' }),
    }),
  },
  from: (sent, page) => ({
    is_starred: isStarred(sent, page),
    agent_tools: toolsOf(sent),
    agent_tags: tagsOf(sent),
    agent_settings: settingsOf(sent, declared),
  }),
})
