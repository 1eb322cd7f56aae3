// Retries a workspace's quarantined records, file by file.
import type { App } from '../app.ts'
import { webhookEvent } from '../catalog/events/event-records.ts'
import type { Config, WorkspaceConfig } from '../config.ts'
import { isCode } from '../core/errors.ts'
import { archivedEvent } from '../spool/read-archive.ts'
import { loadContext } from '../steps.ts'
import { type EventContext, payloadAddress, quarantinedEvent, retryEvent } from '../warehouse/events/apply.ts'
import { retryQuarantined } from '../warehouse/maintenance/quarantine-retry.ts'

interface Place {
  file: string
  element: number
}

type Quarantined = Place & { record: string }

/** Returns why a record stays quarantined; null if it was loaded. */
export type RetryReport = (place: Place) => string | null

const nameOf = ({ file, element }: Place): string => `${file}#${element}`

async function retryOne(context: EventContext & { home: string }, file: string): Promise<string | null> {
  const address = await payloadAddress(context.writer, context.workspaceId, quarantinedEvent(file))
  if (!address) return 'its payload is no longer in the spool'
  try {
    return await retryEvent(context, { ...(await archivedEvent(context.home, address)), ...address }, file)
  } catch (error) {
    if (!isCode(error, 'SPOOL_CORRUPT')) throw error
    return 'its payload in the spool cannot be read'
  }
}

/** Retries the records of a file; they stay quarantined if it cannot be read. @throws LOAD_FAILED for an error of no record */
export async function retryRecords(options: {
  config: Config
  app: App
  workspace: WorkspaceConfig
  records: readonly Quarantined[]
  now?: () => number
}): Promise<RetryReport> {
  const { config, app, workspace, records, now = Date.now } = options
  const { warehouse, stores } = app
  const landing = stores.landing.workspace(workspace.id)
  const context = loadContext({
    home: config.home,
    workspaceId: workspace.id,
    landing,
    warehouse,
    settings: workspace,
    now,
  })
  const outcome = new Map<string, string | null>()
  const ofPages = records.filter(({ record }) => record !== webhookEvent.name)
  for (const { file, element } of records.filter(record => !ofPages.includes(record)))
    outcome.set(nameOf({ file, element }), await retryOne({ ...context, home: config.home }, file))
  for (const file of new Set(ofPages.map(record => record.file))) {
    const elements = ofPages.filter(record => record.file === file).map(({ element }) => element)
    try {
      const page = { address: file, head: await landing.head(file) }
      for (const { element, reason } of await retryQuarantined(context, page, elements))
        outcome.set(nameOf({ file, element }), reason)
    } catch (error) {
      if (!isCode(error, 'LANDING_CORRUPT')) throw error
      for (const element of elements) outcome.set(nameOf({ file, element }), 'its file cannot be read')
    }
  }
  return place => outcome.get(nameOf(place)) ?? null
}
