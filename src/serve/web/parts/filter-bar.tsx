// The filters of a page: the period, and what is chosen of workspaces, organizations, agents and channels.
import { useOrganizations } from '../api/pages.ts'
import { useValues } from '../state/colours.ts'
import { chosen } from '../state/filters.ts'
import { PeriodMenu } from './period-menu.tsx'
import { Picker } from './picker.tsx'

export function FilterBar() {
  const [workspaces, agents, channels] = [useValues('workspace'), useValues('agent'), useValues('channel')]
  const organizations = (useOrganizations().data ?? []).map(({ workspace, organization, name }) => ({
    key: `${workspace}/${organization}`,
    label: name ?? organization,
  }))
  return (
    <section class="filters row" aria-label="Filters">
      <PeriodMenu />
      {(workspaces.length > 1 || chosen.value.workspace) && (
        <Picker name="workspace" title="Workspace" plural="workspaces" choices={workspaces} />
      )}
      {(organizations.length > 0 || chosen.value.organization) && (
        <Picker name="organization" title="Organization" plural="organizations" choices={organizations} />
      )}
      <Picker name="agent" title="Agent" plural="agents" choices={agents} />
      <Picker name="channel" title="Channel" plural="channels" choices={channels} />
    </section>
  )
}
