// What `import … from 'convohouse/api'` has. It loads neither DuckDB nor Temporal.
export type { ApiClient, CallOptions, ExportArguments, SearchArguments, VoicesArguments } from './api/api-client.ts'
export { createApiClient } from './api/client.ts'
export { type Effect, OPERATIONS, type Operation, type OperationName, type Parameter } from './api/operations.ts'
export { allAgents, allAuditEntries, allTeams, allVoices, exportPages } from './api/pages.ts'
export type { Agent } from './api/records/agent.ts'
export type {
  AuditEntry,
  Metric,
  MetricChanges,
  NewTool,
  NewVariable,
  Tool,
  ToolField,
  Variable,
} from './api/records/agent-resources.ts'
export type { Conversation, ExportedConversations, Usage } from './api/records/conversation.ts'
export type { Answer, Succeeded } from './api/records/record.ts'
export type {
  CrawlerPage,
  Organization,
  Team,
  Voice,
  Workspace,
  WorkspaceChanges,
} from './api/records/workspace-resources.ts'
export { ConvohouseError, type ErrorCode } from './core/errors.ts'
export type { VendorClientOptions as ApiClientOptions } from './vendor/caller.ts'
export { VendorError } from './vendor/faults.ts'
