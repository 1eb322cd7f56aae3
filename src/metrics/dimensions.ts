// What metrics can be split and filtered by. A dimension names the same columns in every mart that has it.

interface Dimension {
  title: string
  /** SQL of the value, text or NULL. */
  key: string
  /** SQL of the name to show, where it differs. */
  label?: string
  /** True if equal values of two workspaces are different things. */
  isOfWorkspace?: true
}

const dimensions = {
  workspace: { title: 'Workspace', key: 'workspace_id' },
  agent: { title: 'Agent', key: 'agent_id', label: 'agent_title', isOfWorkspace: true },
  channel: { title: 'Channel', key: 'channel' },
  language: { title: 'Language', key: 'language', label: 'language_name' },
  country: { title: 'Country', key: 'country_code' },
  state: { title: 'State', key: 'state' },
  outcome: { title: 'Outcome', key: 'outcome' },
  end_reason: { title: 'Reason of the end', key: 'end_reason' },
  assignee: { title: 'Assignee', key: 'assignee_id', label: 'assignee_name', isOfWorkspace: true },
  accepted_by: { title: 'Accepted by', key: 'accepted_by', label: 'accepted_by_name', isOfWorkspace: true },
  responder: { title: 'Responder', key: 'responder_id', label: 'responder_name', isOfWorkspace: true },
  person: { title: 'Person', key: 'user_id', label: 'user_name', isOfWorkspace: true },
  organization: { title: 'Organization', key: 'organization_id', label: 'organization_name', isOfWorkspace: true },
  team: { title: 'Requested team', key: 'requested_team_key', label: 'requested_team_label', isOfWorkspace: true },
  sla: { title: 'Service level', key: 'sla_name', isOfWorkspace: true },
  wait: { title: 'Wait', key: 'metric' },
  model: { title: 'Model', key: 'model_id' },
  tag: { title: 'Tag', key: 'tag' },
  funnel_step: { title: 'Funnel step', key: 'step' },
  lead_stage: { title: 'Stage of the lead', key: 'lead_stage' },
  currency: { title: 'Currency', key: 'lead_currency' },
  temperature: { title: 'Temperature of the lead', key: 'lead_temperature' },
} as const satisfies Record<string, Dimension>

export type DimensionName = keyof typeof dimensions

export const DIMENSIONS: Readonly<Record<DimensionName, Dimension>> = dimensions

export const isDimension = (name: string): name is DimensionName => Object.hasOwn(DIMENSIONS, name)

/** Dimensions that every mart of metrics has. */
export const EVERYWHERE = ['workspace', 'agent'] as const satisfies readonly DimensionName[]

/** Columns that the dimensions read, which a mart must have. */
export const columnsOf = (names: readonly DimensionName[]): string[] =>
  names.flatMap(name => [DIMENSIONS[name].key, DIMENSIONS[name].label ?? []].flat())
