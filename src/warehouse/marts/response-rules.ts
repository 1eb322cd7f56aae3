// Business hours and service levels of a workspace. They are stored as tables that `fct_responses` joins, and derived
// again when the configuration or the time zone changes.
import type { ResponseRules } from '../../core/response-rules.ts'
import { beginEpoch } from '../changes/log-changes.ts'
import type { Writer } from '../connection.ts'
import { sqlFile } from '../sql-files.ts'

interface ZonedRules extends ResponseRules {
  timeZone: string
}

/** Returns the settings that the rows derive from; null if nothing is configured. */
const settingsOf = ({ timeZone, businessHours, serviceLevels }: ZonedRules): string | null =>
  businessHours === null && serviceLevels.length === 0
    ? null
    : JSON.stringify([businessHours === null ? null : timeZone, businessHours, serviceLevels])

async function storedSettings({ rows }: Pick<Writer, 'rows'>, workspace: string): Promise<string | null> {
  const [row] = await rows<{ settings: string }>(
    'SELECT settings FROM _response_rules WHERE workspace_id = $workspace',
    { workspace },
  )
  return row?.settings ?? null
}

async function storeHours(writer: Writer, workspace: string, { timeZone, businessHours }: ZonedRules): Promise<void> {
  if (businessHours === null) return
  const { hours, holidays } = businessHours
  await writer.run(sqlFile('refresh/business_hours'), {
    ...{ workspace, zone: timeZone, hours: JSON.stringify(hours), holidays: JSON.stringify(holidays) },
  })
}

const targetRows = (workspace: string, { serviceLevels }: ResponseRules) =>
  serviceLevels.flatMap(({ name, agents, channels, isBusiness, targets }, index) =>
    targets.map(({ metric, seconds }) => ({
      ...{ workspace_id: workspace, rule: index + 1, name, metric, target_seconds: seconds, is_business: isBusiness },
      ...{ agents: agents && [...agents], channels: channels && [...channels] },
    })),
  )

/**
 * Stores the rules, inside the caller's transaction. If they differ from the stored ones, begins a new epoch, in which
 * the marts are computed again.
 */
export async function storeResponseRules(writer: Writer, workspaceId: string, rules: ZonedRules): Promise<void> {
  const settings = settingsOf(rules)
  if ((await storedSettings(writer, workspaceId)) === settings) return
  const params = { workspace: workspaceId }
  for (const table of ['_response_rules', '_business_hours', '_sla_targets'])
    await writer.run(`DELETE FROM ${table} WHERE workspace_id = $workspace`, params)
  if (settings !== null) {
    const hasHours = rules.businessHours !== null
    await writer.run('INSERT INTO _response_rules VALUES ($workspace, $settings, $hasHours)', {
      ...{ ...params, settings, hasHours },
    })
    await storeHours(writer, workspaceId, rules)
    await writer.append('_sla_targets', targetRows(workspaceId, rules))
  }
  await beginEpoch(writer)
}

/** Applies changed rules in one transaction, whether or not anything is loaded. */
export async function applyResponseRules(writer: Writer, workspaceId: string, rules: ZonedRules): Promise<void> {
  if ((await storedSettings(writer, workspaceId)) === settingsOf(rules)) return
  await writer.transaction(() => storeResponseRules(writer, workspaceId, rules))
}
