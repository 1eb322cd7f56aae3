// `convohouse prune`: removes pages and event payloads that are older than the configured retention.
import type { Command } from 'commander'
import { bytes, counted } from '../core/words.ts'
import { type Expired, expire } from '../steps/upkeep.ts'
import { expectWarehouse } from '../warehouse/open.ts'
import { chooseWorkspaces, configAt } from './flags/configuration.ts'
import { addConfigFlag, addWorkspaceFlag } from './flags/sync-flags.ts'
import { openAppWhenReleased } from './open-app.ts'
import { print, printJsonLine } from './terminal/print.ts'

export const define = (command: Command): Command =>
  addWorkspaceFlag(addConfigFlag(command))
    .option('--dry-run', 'show what would be removed, and remove nothing')
    .option('--json', 'one JSON object per workspace, for machines')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse prune --dry-run
  $ convohouse prune

Rows stay in the warehouse, which then is the only place that has them: back it up. Syncs do the same once a day. Pages expire by agent
and month, when all of them are older, loaded, and of finished windows; event payloads expire by day. Without \`retention\` in the configuration nothing expires.`,
    )
    .action(async (flags: PruneFlags) => {
      await runPrune(flags)
    })

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

/** @throws WAREHOUSE_MISSING, WAREHOUSE_LOCKED, WAREHOUSE_LAYOUT, HOME_UNUSABLE, LANDING_CORRUPT */
async function runPrune(flags: PruneFlags): Promise<void> {
  const { dryRun = false, json = false } = flags
  const config = configAt(flags.config)
  const workspaces = chooseWorkspaces(config, flags.workspace)
  const { home } = config
  expectWarehouse(home, 'Set the right data folder (`home`, CONVOHOUSE_HOME): nothing has been loaded here.')
  const app = await openAppWhenReleased(config)
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
