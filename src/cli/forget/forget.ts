// `convohouse forget`: erases people on request, everywhere that convohouse writes, and keeps them away.
import { createWriteStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import type { Command } from 'commander'
import { openStores } from '../../app/stores.ts'
import type { Config } from '../../config.ts'
import { homeUnusable } from '../../core/disk.ts'
import { ConvohouseError, isCode } from '../../core/errors.ts'
import { formatDuration, HOUR } from '../../core/time.ts'
import { bytes, count, counted } from '../../core/words.ts'
import { namesIn } from '../../files/durable.ts'
import { pathSegment } from '../../files/path-segment.ts'
import { freeBytes, warehouseSize } from '../../files/stored-bytes.ts'
import { type Erasure, erasures, forgottenAs, recordStep, remember } from '../../landing/tombstones.ts'
import { type FoundPeople, findPeople } from '../../run/find-people.ts'
import { rowsAbout, type StoredAbout, storedAbout } from '../../run/stored-about.ts'
import { isHeld } from '../../serve/own-snapshot.ts'
import { spoolRoot } from '../../spool/folders.ts'
import { eraseFiles } from '../../steps/forgetting/erase-files.ts'
import { expectWarehouse } from '../../warehouse/open.ts'
import { type Rows, withParams, withWarehouseRows } from '../../warehouse/query/rows.ts'
import { warehouseFile } from '../../warehouse/warehouse-file.ts'
import { configAt } from '../flags/configuration.ts'
import { addConfigFlag } from '../flags/sync-flags.ts'
import { invalidFlag } from '../flags/values.ts'
import { asksToYield } from '../open-app.ts'
import { confirm, isInteractive } from '../terminal/confirm.ts'
import { log, print, printJson } from '../terminal/print.ts'
import { stopOnSignals } from '../terminal/signals.ts'
import { eraseAndPublish } from './publish-erasure.ts'
import { type RequestFlags, requestsOf } from './requests.ts'

const country = (text: string, before: string[] = []): string[] => {
  if (/^[a-z]{2}$/i.test(text)) return [...before, text.toUpperCase()]
  throw invalidFlag(`--country cannot be ${JSON.stringify(text)}.`, 'Give a code of two letters, such as DE.')
}

export const define = (command: Command): Command =>
  addConfigFlag(command)
    .option('--email <address>', 'an email address of the person')
    .option('--phone <number>', 'a telephone number of the person, with its country (+49 …), or with --country')
    .option('--user <id>', "the person's user id or contact identity")
    .option('--conversation <agent/id>', 'one conversation; other identifiers of its contact are not followed')
    .option('--file <path>', 'a CSV file with the columns email, phone, user, conversation: one request a line')
    .option('--country <code>', 'country of numbers without a calling code; may be repeated', country)
    .option('--export <path>', 'write first what is stored about the person, as JSON lines')
    .option('--dry-run', 'show what would be erased, and erase nothing')
    .option('--yes', 'do not ask for confirmation')
    .option('--lift <erasure>', 'end an erasure, when the person returns with consent: new records are kept again')
    .option('--json', 'one JSON object, for machines')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse forget --email jane@example.org --dry-run
  $ convohouse forget --phone "0170 1234567" --country DE
  $ convohouse forget --file requests.csv --yes
  $ convohouse forget --email jane@example.org --export jane.ndjson --dry-run
  $ convohouse erasures                      receipts, and what is still open

It finds the person's conversations, leads, clients and events by their contact fields, never by those of staff. First it writes a tombstone
(keyed hashes only), which also drops what the vendor sends again. Then it erases landed pages, received events and rows, rebuilds the
warehouse, and publishes the deletion to every target. Beside a process that holds the warehouse, that process erases. docs/privacy.md says what it cannot reach.`,
    )
    .action(async (flags: ForgetFlags) => {
      await runForget(flags)
    })

interface ForgetFlags extends RequestFlags {
  config?: string
  country?: string[]
  export?: string
  dryRun?: boolean
  yes?: boolean
  lift?: string
  json?: boolean
}

/** Reads without the usual time limit: mentions are searched in all texts. Repeats, if the process that holds the warehouse ends. */
const readLong = <T>(config: Config, work: (rows: Rows) => Promise<T>): Promise<T> => {
  const read = () => withWarehouseRows(config, work, HOUR)
  return read().catch(error => {
    if (isCode(error, 'INTERRUPTED', 'WAREHOUSE_ENDED')) return read()
    throw error
  })
}

/** Estimates the time of rewriting and rebuilding, ms, on two cores: the bench `forget` takes 0.9 ms a record, the demo 1 ms an event. */
const TAKES = `SELECT (5_000 + (SELECT coalesce(sum(records), 0) FROM _loads) * 0.9 + (SELECT count(*) FROM webhook_events))::DOUBLE AS "takesMs"`

/** @throws FLAG_INVALID, FORGET_REFUSED, WAREHOUSE_MISSING, HOME_UNUSABLE, LANDING_CORRUPT, SPOOL_CORRUPT, INTERRUPTED */
async function runForget(flags: ForgetFlags): Promise<void> {
  const config = configAt(flags.config)
  if (flags.lift !== undefined) return lift(config, flags.lift)
  const requests = await requestsOf(flags)
  const { home } = config
  expectWarehouse(home, 'Set the right data folder (`home`, CONVOHOUSE_HOME): nothing has been loaded here.')
  await expectAllReachable(config)
  const workspaceIds = config.workspaces.map(({ id }) => id)
  if (!flags.json) log('Searching tables, landed pages and received events for the person.')
  const found = await readLong(config, rows =>
    findPeople(withParams(rows), { workspaceIds, requests, countries: flags.country ?? [] }),
  )
  const { files, begun } = await filesAbout(config, found)
  const people = { ...found, conversations: [...found.conversations, ...begun] }
  const { stored, takesMs } = await readLong(config, async rows => {
    if (flags.export !== undefined) await writeExport(flags.export, withParams(rows), people)
    const [takes] = await rows<{ takesMs: number }>(TAKES)
    return { stored: await storedAbout(withParams(rows), people), takesMs: takes!.takesMs }
  })
  if (flags.json && flags.dryRun) return printJson({ conversations: people.conversations, stored, files })
  if (!flags.json) {
    print(...planLines(people, stored, files))
    const size = bytes(await warehouseSize(warehouseFile(home)))
    log(`An erasure rebuilds the warehouse, which needs ${size} of disk and about ${formatDuration(takesMs)}.`)
  }
  if (flags.dryRun) return
  if (!flags.yes) await askConsent()
  const rows = Object.fromEntries(stored.flatMap(({ table, rows }) => (rows > 0 ? [[table, rows] as const] : [])))
  const id = await remember(home, { ...people, found: { ...rows, ...files } }, Date.now())
  if (!flags.json) log(`Erasure ${id} is recorded: nothing of the person is kept from now on.`)
  await erase(config, id, flags.json === true)
}

/** Ends a tombstone. @throws FORGET_REFUSED if there is none */
async function lift({ home }: Config, erasure: string): Promise<void> {
  const found = (await erasures(home)).find(({ id }) => id === erasure)
  if (!found || found.liftedMs !== null)
    throw new ConvohouseError('FORGET_REFUSED', {
      what: `There is no standing erasure ${JSON.stringify(erasure)}.`,
      hint: '`convohouse erasures` lists them.',
    })
  await recordStep(home, { erasure, atMs: Date.now(), lifted: true })
  print(
    `Erasure ${erasure} is lifted: new records of the person are kept again, unless another erasure names the same person. What was erased stays erased.`,
  )
}

/** Refuses a data folder with copies that this command cannot rewrite, or without room for the new warehouse. @throws FORGET_REFUSED */
async function expectAllReachable(config: Config): Promise<void> {
  const { home, workspaces } = config
  const replaced = (await readdir(home)).filter(name => name.startsWith('warehouse.replaced-'))
  if (replaced.length > 0)
    throw new ConvohouseError('FORGET_REFUSED', {
      what: `${home} has ${replaced.join(', ')}, a warehouse of another layout that a replay moved aside: it may contain the person.`,
      hint: 'Delete it, or move it to where you keep backups, then run the same command again.',
    })
  const [size, free] = [await warehouseSize(warehouseFile(home)), await freeBytes(home)]
  if (free < size)
    throw new ConvohouseError('FORGET_REFUSED', {
      what: `The warehouse is rebuilt after an erasure, which needs ${bytes(size)} of disk, and ${home} has ${bytes(free)} left.`,
      hint: 'Free disk space, then run the same command again. Nothing was erased.',
    })
  const { landing } = openStores(home)
  const own = new Set(workspaces.map(({ id }) => pathSegment(id)))
  const stored = new Set([...(await landing.folders()), ...(await namesIn(spoolRoot(home)))])
  const others = [...stored].filter(name => !own.has(name) && !name.startsWith('.'))
  if (others.length === 0) return
  throw new ConvohouseError('FORGET_REFUSED', {
    what: `${config.source} lacks workspaces whose pages or events are in ${home}: ${others.join(', ')}. The person may be in them.`,
    hint: 'Add them to `workspaces`, or delete their folders in `landing` and `spool`, then run the same command again.',
  })
}

async function writeExport(file: string, reader: Parameters<typeof rowsAbout>[0], people: FoundPeople): Promise<void> {
  let rows = 0
  const lines = async function* () {
    for await (const { table, row } of rowsAbout(reader, people)) {
      rows += 1
      yield `{"table":${JSON.stringify(table)},"row":${row}}\n`
    }
  }
  await pipeline(lines, createWriteStream(file, { mode: 0o600 })).catch(cause => {
    throw homeUnusable(file, cause)
  })
  log(`${counted(rows, 'row')} about the person written to ${file}.`)
}

/** Counts what the files of landing and spool have of the people; returns their conversations that no table has yet. */
async function filesAbout({ home, workspaces }: Config, people: FoundPeople) {
  const { landing } = openStores(home)
  const forgotten = forgottenAs(people)
  const files: Record<string, number> = {}
  const found = new Map<string, FoundPeople['conversations'][number]>()
  for (const { id: workspaceId } of workspaces) {
    const about = { home, workspaceId, landing: landing.workspace(workspaceId), forgotten, dryRun: true }
    const { places, begun } = await eraseFiles(about)
    for (const one of begun) found.set(JSON.stringify([workspaceId, one.agentId, one.id]), { workspaceId, ...one })
    for (const [place, count] of Object.entries(places)) if (count > 0) files[place] = (files[place] ?? 0) + count
  }
  return { files, begun: [...found.values()] }
}

function planLines(people: FoundPeople, stored: readonly StoredAbout[], files: Record<string, number>): string[] {
  const { conversations, identifiers, shared } = people
  const mentions = stored.filter(({ mentions }) => mentions > 0)
  return [
    ...(identifiers.length === 0 ? [] : ['The person, by the request and the conversations that it leads to:']),
    ...identifiers.map(identifier => `  ${identifier.replace(':', ' ')}`),
    `${counted(conversations.length, 'conversation')}:`,
    ...conversations.slice(0, 20).map(({ workspaceId, agentId, id }) => `  ${workspaceId}  ${agentId}/${id}`),
    ...(shared.length > 0
      ? [
          `  ${counted(shared.length, 'value')} in them ${shared.length === 1 ? 'is' : 'are'} shared by many conversations, and not followed`,
        ]
      : []),
    'To erase:',
    ...stored.filter(({ rows }) => rows > 0).map(({ table, rows }) => `  ${table}  ${counted(rows, 'row')}`),
    ...Object.entries(files).map(([place, found]) => `  ${place}  ${count(found)}`),
    ...(mentions.length === 0
      ? []
      : [
          "Mentions in other people's records, which stay:",
          ...mentions.map(({ table, mentions }) => `  ${table}  ${counted(mentions, 'row')}`),
        ]),
  ]
}

/** @throws CONFIRMATION_NEEDED without a terminal; INTERRUPTED */
async function askConsent(): Promise<void> {
  if (!isInteractive())
    throw new ConvohouseError('CONFIRMATION_NEEDED', {
      what: 'Erasing cannot be undone, and there is no terminal to confirm it. Nothing was erased.',
      hint: 'Check the list with --dry-run, then pass --yes.',
    })
  const stop = stopOnSignals()
  try {
    const stopped = 'Stopped; nothing was erased.'
    if (await confirm('Erase? This cannot be undone.', { signal: stop.stopping, stopped })) return
    throw new ConvohouseError('INTERRUPTED', { what: stopped })
  } finally {
    stop.release()
  }
}

/** Erases now, or leaves it to the process that holds the warehouse. */
async function erase(config: Config, id: string, json: boolean): Promise<void> {
  const { home } = config
  // Competing with a process that is about to restart would keep it from opening the warehouse.
  const isLeft = (await isHeld(home)) && !(await asksToYield(config))
  const open = isLeft
    ? null
    : await eraseAndPublish(config).catch(error => {
        if (isCode(error, 'WAREHOUSE_LOCKED')) return null
        throw error
      })
  if (open === null) {
    const where =
      'Another process holds the warehouse: `up`, `worker` and `sync --watch` erase it within seconds, and after any other the next command that writes does. `convohouse erasures` shows when it is done.'
    return json ? printJson({ erasure: id, erased: false }) : print(where)
  }
  const [receipt] = (await erasures(config.home)).filter(one => one.id === id)
  if (json) return printJson({ ...receipt, open })
  print(...receiptLines(receipt!), ...open.map(({ place, why }) => `  open: ${place} (${why})`))
}

const receiptLines = ({ id, places }: Erasure): string[] => [
  `Erased (${id}):`,
  ...Object.entries(places).map(([place, found]) => `  ${place}  ${count(found)}`),
]
