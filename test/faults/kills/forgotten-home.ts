// A data folder with a person in pages, bundles, events, tables and two targets, and a search for the person in every byte.
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { DAY } from '../../../src/core/time.ts'
import { spoolSteps } from '../../../src/steps/events/drain.ts'
import { openWarehouse } from '../../../src/warehouse/open.ts'
import { type Ended, startCommand } from '../../command.ts'
import { valuesIn } from '../../publish/published.ts'
import { valuesContain } from '../../publish/published-parquet.ts'
import { TOKEN_ENV, writeConfig } from '../../scene.ts'
import { receiveEvents } from '../../spool/arbitrary-events.ts'
import { AGENT, freshWindow, landConversations, SENT_AT_MS } from '../../warehouse/landed-pages.ts'
import { LOADED_AT_MS, SMALL, workspaceIn } from '../../warehouse/temporary-warehouse.ts'

/** Occurs in every value of the person, ids included. */
export const PERSON = 'vergissmeinnicht'
export const EMAIL = `jane@${PERSON}.example`

const jane = (id: string) => ({ ID: `${PERSON}-${id}`, userEmail: EMAIL, userName: PERSON, tags: [PERSON] })

const lead = (leadEmail: string) => ({ agentId: AGENT, leadEmail, createdAt: SENT_AT_MS })
const message = (convoId: string) => ({ agentId: AGENT, convoId, messageContent: convoId, createdAt: SENT_AT_MS })

/** Below a root: the data folder `data`, the folder `targets`, and the configuration. The vendor's address does not answer. */
export const placesIn = (root: string) => ({ home: join(root, 'data'), targets: join(root, 'targets') })

/** Returns a command's arguments for the data folder below a root. */
export async function argsIn(root: string, ...args: string[]): Promise<string[]> {
  const { home, targets } = placesIn(root)
  const published = [
    { name: 'file', type: 'snapshot', path: join(targets, 'file.duckdb') },
    { name: 'files', type: 'parquet', path: join(targets, 'files') },
  ]
  const top = { targets: existsSync(targets) ? published : [] }
  const file = await writeConfig(root, { url: 'http://127.0.0.1:1', home, workspaceId: 'ws', top })
  return [...args, '--config', file]
}

/** Runs a command in its own process. */
export const run = async (root: string, ...args: string[]): Promise<Ended> =>
  startCommand(await argsIn(root, ...args), { env: TOKEN_ENV }).ended

/**
 * Fills a root: one conversation of the person in a page, one in a bundle, one event in an archive, one in a sealed segment.
 * With `publishes`, two targets are filled, too.
 */
export async function fillWithPerson(root: string, { publishes }: { publishes: boolean }): Promise<void> {
  const { home, targets } = placesIn(root)
  const warehouse = await openWarehouse({ home, ...SMALL })
  try {
    const place = workspaceIn({ home, warehouse, id: 'ws', timeZone: 'UTC' })
    const { landing } = place
    const land = async (records: object[], sequence = 1) =>
      place.load(await landConversations(landing, { records, window: freshWindow(), facts: { sequence } }))
    await land([{ ID: 'a', userName: 'Ann' }, jane('1')])
    await land([{ ID: 'b', userName: 'Bob' }])
    await landing.compact(
      (await landing.folders()).map(({ folder }) => folder),
      SENT_AT_MS + DAY,
    )
    await land([jane('2'), { ID: 'c', userName: 'Cy', summary: 'stays' }])
    await landing.landFailed({ atMs: SENT_AT_MS, agentId: AGENT, status: 200, body: Buffer.from(PERSON) })
    const receive = (...payloads: Record<string, unknown>[]) =>
      receiveEvents({ home, workspaceId: 'ws', nowMs: LOADED_AT_MS }, payloads)
    await receive({ event: 'lead_captured', ...lead(EMAIL) }, { event: 'lead_captured', ...lead('ann@other.example') })
    await spoolSteps({ ...place.context, home }).drain({ workspaceId: 'ws' })
    await receive(
      { event: 'message_received', ...message(`${PERSON}-1`) },
      { event: 'message_received', ...message('a') },
    )
  } finally {
    await warehouse.close()
  }
  await writeFile(join(home, 'query-history'), `SELECT '${PERSON}'\n`)
  if (!publishes) return
  await mkdir(targets)
  const { code, stderr } = await run(root, 'publish')
  if (code !== 0) throw new Error(stderr)
}

/** Returns the files below a root that have something of the person: in their path, their bytes, or their values. */
export async function tracesIn(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const found: string[] = []
  for (const entry of entries.filter(one => one.isFile())) {
    const path = join(entry.parentPath, entry.name)
    const bytes = await readFile(path)
    const plain = path.endsWith('.gz') ? gunzipSync(bytes) : bytes
    const values = async () => {
      if (path.endsWith('.duckdb')) return (await valuesIn(path, PERSON)).length > 0
      return path.endsWith('.parquet') && valuesContain(dirname(path), PERSON)
    }
    if (path.includes(PERSON) || plain.includes(PERSON) || (await values())) found.push(relative(root, path))
  }
  return found.sort()
}
