// The list of conversations, and one with everything that is known of it.
import { filters } from '../state/filters.ts'
import { addressOf, query } from '../state/location.ts'
import { getJson } from './client.ts'
import { useAnswer } from './resource.ts'

export type Row = Readonly<Record<string, string | number | boolean | null>>

export interface Listed {
  conversations: Row[]
  /** `after` of the next page. */
  next: string | null
  /** Why transcripts cannot be searched; null if they can. */
  whyNoTexts: string | null
  asOf: string
}

export interface Told {
  conversation: Row
  transcript: Row[] | null
  whyNoTranscript: string | null
  states: Row[]
  handoffs: Row[]
  events: Row[]
  spend: Row[]
}

/** Parameters of the address that belong to the list: they stay while the reader looks at one conversation. */
const OF_LIST = ['behind', 'words', 'tests', 'after'] as const

const listParams = () => Object.fromEntries(OF_LIST.map(name => [name, query.value.get(name)]))

/** Returns the address of the list, as the reader left it. */
export const listAddress = (): string => addressOf('conversations', listParams())

export const conversationAddress = ({ workspace_id, agent_id, conversation_id }: Row): string =>
  addressOf(
    `conversations/${[workspace_id, agent_id, conversation_id].map(id => encodeURIComponent(String(id))).join('/')}`,
    listParams(),
  )

/** Returns the page's filters as parameters of the API. */
export const filterParams = (): [string, string][] =>
  Object.entries(filters.value).flatMap(([name, values]) => values.map((value): [string, string] => [name, value]))

/** `params`: null asks nothing. */
export const useConversations = (params: readonly [string, string][] | null) => {
  const search = params && String(new URLSearchParams(params.map(([name, value]) => [name, value])))
  return useAnswer(search && `conversations ${search}`, () => getJson<Listed>(`v1/conversations?${search}`))
}

/** `key`: workspace, agent and id, encoded. */
export const useConversation = (key: string) =>
  useAnswer(`conversation ${key}`, () => getJson<Told>(`v1/conversations/${key}`))
