// An agent, as the search returns it (section 2.12). Fields that the document lists without a type are among the unlisted ones.
import type { Optional, Unlisted } from './record.ts'

type Transcriber = Optional<'provider' | 'modelId' | 'language' | 'apiKey', string> & Unlisted

type SpeechGeneration = Optional<'provider' | 'modelId' | 'voiceId' | 'apiKey' | 'region' | 'language', string> &
  Optional<'wordsReplacements', readonly (Optional<'word' | 'replacement', string> & Unlisted)[]> &
  Unlisted

type Node = { readonly id: string } & Optional<
  'name' | 'description' | 'instructions' | 'language' | 'voiceInstructions' | 'type',
  string
> &
  Optional<'toolsIds', readonly string[]> &
  Optional<'isGlobal', boolean> &
  Optional<'childrenNodes', readonly (Optional<'nodeId', string> & Unlisted)[]> &
  Unlisted

type Limits = Optional<
  | 'maxInteractionsPerUserId'
  | 'maxTextInteractionsPerIp'
  | 'textIpRateLimitWindowHours'
  | 'maxAnnualCreditsUsage'
  | 'maxMonthlyCreditsUsage'
  | 'maxMessages'
  | 'maxMessagesRetentionDays'
  | 'inactiveChatRetentionDays'
  | 'analyticsRetentionDays',
  number
> &
  Optional<'enableTextIpRateLimit', boolean> &
  Unlisted

/** Many of its fields are secrets (`whatsappToken`, `SECRET_API_KEY`, keys of voice providers). */
export type Agent = { readonly ID: string } & Optional<
  'title' | 'description' | 'ownerID' | 'storageID' | 'agentPlatform' | 'region',
  string
> &
  Optional<'createdAtUNIX' | 'lastModified', number> &
  Optional<'disabled' | 'isDeployed' | 'starred' | 'enableNodes', boolean> &
  Optional<'assignedToolsIds' | 'convoTags', readonly string[]> & {
    readonly voiceConfig?:
      | ({
          readonly transcriber?: Transcriber | null
          readonly speechGen?: SpeechGeneration | null
          readonly config?: Unlisted | null
        } & Unlisted)
      | null
    readonly nodes?: readonly Node[] | null
    readonly tools?: readonly Tool[] | null
    readonly advanced?: (Optional<'serverUrl' | 'serverUrlSecret', string> & Unlisted) | null
    readonly limits?: Limits | null
    readonly marketplace?: Unlisted | null
  } & Unlisted

/** A field of a tool (section 2.2). */
export type ToolField = Optional<'id' | 'in' | 'type' | 'key' | 'description' | 'agentId' | 'userId', string> &
  Optional<'required' | 'reusable' | 'isEnv' | 'isSystem' | 'isGlobal', boolean> &
  Optional<'value' | 'defaultValue', unknown> &
  Unlisted

type ToolSettings = Optional<'method' | 'serverUrl' | 'serverUrlSecret' | 'extId', string> &
  Optional<'isDefault' | 'disabled' | 'isExtTool' | 'isGlobal', boolean> &
  Optional<'variablesIds' | 'backchannellingPhrases' | 'channels', readonly string[]> & {
    readonly fields?: readonly ToolField[] | null
    readonly toolsSettings?: unknown
  }

/** Fields for creating a tool (section 4.1). The description tells the AI when to use it. An empty `channels` allows all. */
export type NewTool = ToolSettings & { readonly name: string; readonly description: string } & Unlisted

/** A tool (section 2.1). Instructions refer to it as `{{tool:<id>}}`. */
export type Tool = ToolSettings & { readonly id: string; readonly name: string } & Optional<
    'description' | 'createdAt' | 'updatedAt' | 'agentId' | 'userId',
    string
  > &
  Unlisted

/** Fields for creating a variable (section 4.3). The key must be new in the agent. */
export type NewVariable = Pick<ToolField, 'in' | 'value' | 'defaultValue' | 'description'> &
  Optional<'required' | 'reusable' | 'isEnv' | 'isSystem' | 'isGlobal', boolean> & { readonly key: string } & Unlisted

/** A variable (section 2.2). Instructions refer to it as `{{var:<id>}}`. */
export type Variable = ToolField & { readonly id: string; readonly key: string }

/** A custom metric (section 2.3). `options` are the values of a metric of the type `enum`. Times are unix times, of an unstated unit. */
export type Metric = { readonly id: string; readonly key: string; readonly isSystem: boolean } & Optional<
  'description' | 'type',
  string
> &
  Optional<'options', readonly string[]> &
  Optional<'createdAtUNIX' | 'updatedAtUNIX', number> &
  Unlisted

/** Changes of a metric (section 4.8): only the given fields. `options` replaces all options of an `enum` metric. */
export interface MetricChanges {
  readonly key?: string
  readonly description?: string
  readonly options?: readonly string[]
  readonly type?: string
}

/** An entry of the audit log (section 2.4). `ts` is in unix seconds; it has no id. */
export type AuditEntry = { readonly field: string; readonly ts: number } & Optional<
  'agentId' | 'oldValue' | 'newValue' | 'source' | 'actor',
  string
> &
  Unlisted
