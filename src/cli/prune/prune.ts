// `convohouse prune`: removes pages and event payloads that are older than the configured retention.
import { openApp } from '../../app.ts'
import { bytes, counted } from '../../core/words.ts'
import { type Expired, expire } from '../../steps/expiry.ts'
import { expectWarehouse } from '../../warehouse/open.ts'
import { chooseWorkspaces, configAt } from '../flags/configuration.ts'
import { print, printJsonLine } from '../terminal/print.ts'

export interface PruneFlags {
  config?: string
  workspace?: string
  dryRun?: boolean
  json?: boolean
}

function sentence({ folders, pages, eventFiles, eventBytes }: Expired, dryRun: boolean): string {
  if (pages + eventFiles === 0) return 'nothing has expired'
  const parts = [
    ...(pages > 0 ? [`${counted(pages, 'page')} in ${counted(folders, 'folder')}`] : []),
    ...(eventFiles > 0 ? [`${counted(eventFiles, 'file')} of event payloads (${bytes(eventBytes)})`] : []),
  ]
  return `${parts.join(' and ')} ${dryRun ? 'would be removed' : 'removed'}; the rows stay in the warehouse`
}

/** @throws WAREHOUSE_MISSING, WAREHOUSE_LOCKED, WAREHOUSE_OLDER, HOME_UNUSABLE, LANDING_CORRUPT */
export async function runPrune(flags: PruneFlags): Promise<void> {
  const { dryRun = false, json = false } = flags
  const config = configAt(flags.config)
  const workspaces = chooseWorkspaces(config, flags.workspace)
  const { home } = config
  expectWarehouse(home, 'Set the right data folder (`home`, CONVOHOUSE_HOME): nothing has been loaded here.')
  const app = await openApp({ config })
  try {
    for (const { id: workspaceId, retention } of workspaces) {
      const landing = app.stores.landing.workspace(workspaceId)
      const { writer } = app.warehouse
      const expired = await expire({ landing, writer, home, workspaceId, retention, now: Date.now }, { dryRun })
      if (json) printJsonLine({ kind: 'pruned', workspaceId, dryRun, retention, ...expired })
      else if (retention.pagesMs === null && retention.eventsMs === null)
        print(`${workspaceId}: nothing expires: ${config.source} sets no \`retention\` for it`)
      else print(`${workspaceId}: ${sentence(expired, dryRun)}`)
    }
  } finally {
    await app.close()
  }
}
