// An agent, as the search returns it (section 2.12). The document lists its groups, and the fields of most groups without their types:
// those are `unknown`.
import type { Tool } from './agent-resources.ts'
import type { Optional, Unlisted } from './record.ts'

type Transcriber = Optional<'provider' | 'modelId' | 'language' | 'apiKey', string> &
  Optional<
    'speechConfig' | 'patienceFactor' | 'platformSpecific' | 'utteranceThreshold' | 'inputVoiceEnhancer',
    unknown
  > &
  Unlisted

type SpeechGeneration = Optional<'provider' | 'modelId' | 'voiceId' | 'apiKey' | 'region' | 'language', string> &
  Optional<'wordsReplacements', readonly (Optional<'word' | 'replacement', string> & Unlisted)[]> &
  Optional<
    | 'highAudioQuality'
    | 'backgroundNoise'
    | 'punctuationBreaks'
    | 'platformSpecific'
    | 'backChannelling'
    | 'backchannelMessages'
    | 'backchannelInterval',
    unknown
  > &
  Unlisted

type Node = { readonly id: string } & Optional<
  'name' | 'description' | 'instructions' | 'language' | 'voiceInstructions' | 'type',
  string
> &
  Optional<'toolsIds', readonly string[]> &
  Optional<'isGlobal', boolean> &
  Optional<'childrenNodes', readonly (Optional<'nodeId', string> & Optional<'condition', unknown> & Unlisted)[]> &
  Optional<
    | 'llmConfig'
    | 'mcpServers'
    | 'toolsSettings'
    | 'routerLlmConfig'
    | 'toolUseBias'
    | 'autoRerouter'
    | 'kb'
    | 'conditionData'
    | 'preStart'
    | 'startConfig',
    unknown
  > &
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
