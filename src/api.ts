// The exports of `convohouse/api`. It loads neither DuckDB nor Temporal.
export type {
  ApiClient,
  CallOptions,
  ExportArguments,
  SearchArguments,
  VoicesArguments,
} from './client/api/api-client.ts'
export { createApiClient } from './client/api/api-client.ts'
export { type Effect, OPERATIONS, type Operation, type OperationName, type Parameter } from './client/api/operations.ts'
export { allAgents, allAuditEntries, allTeams, allVoices, exportPages } from './client/api/pages.ts'
export type {
  Agent,
  AuditEntry,
  Metric,
  MetricChanges,
  NewTool,
  NewVariable,
  Tool,
  ToolField,
  Variable,
} from './client/api/records/agent.ts'
export type { Conversation, ExportedConversations, Usage } from './client/api/records/conversation.ts'
export type { Answer, Succeeded } from './client/api/records/record.ts'
export type {
  CrawlerPage,
  Organization,
  Team,
  Voice,
  Workspace,
  WorkspaceChanges,
} from './client/api/records/workspace-resources.ts'
export type { VendorClientOptions as ApiClientOptions } from './client/caller.ts'
export { VendorError } from './client/faults.ts'
export { ConvohouseError, type ErrorCode } from './core/errors.ts'
