// The process of one publication to one target. It holds the target's lock from the first message to its end, so that
// no other publication can interfere. It ends with the process that started it; SIGKILL is safe at any moment.
import { Readable } from 'node:stream'
import { ConvohouseError } from '../core/errors.ts'
import { restrictUmask } from '../files/durable.ts'
import { safeReason } from '../warehouse/load/quarantine-reason.ts'
import { openTargetDatabase } from './target-database.ts'
import type { FromTarget, OpenTarget, TargetSettings, ToTarget } from './target-port.ts'
import { typeOf } from './targets/target-types.ts'

async function open(settings: TargetSettings): Promise<OpenTarget> {
  const { target, threads } = settings
  const { open, mostThreads = threads } = typeOf(target)
  const database = await openTargetDatabase({ ...settings, threads: Math.min(threads, mostThreads) })
  return open(database, target, settings)
}

/** @throws TARGET_UNUSABLE, SECRET_MISSING, EXTENSION_UNAVAILABLE */
const probe = async (settings: TargetSettings): Promise<string> =>
  typeOf(settings.target).probe(settings.target)!(await openTargetDatabase(settings), settings.extensions)

let opened: OpenTarget | null = null

/** The tables of the package, in the order in which they arrive. */
const tables = new Readable({ objectMode: true, read() {} })

async function answer(message: Exclude<ToTarget, { kind: 'table' | 'complete' }>): Promise<FromTarget> {
  switch (message.kind) {
    case 'probe':
      return { kind: 'probed', found: await probe(message.settings) }
    case 'open':
      opened = await open(message.settings)
      return { kind: 'opened', watermark: await opened.watermark() }
    case 'apply':
      await opened!.apply({ ...message.head, tables })
      return { kind: 'applied' }
    case 'sums':
      return { kind: 'sums', sums: await opened!.sums(message.tables) }
    case 'maintain':
      return { kind: 'maintained', failure: (await opened!.maintain?.()) ?? null }
  }
}

/** Removes values, which DuckDB's messages may quote. */
function failureOf(error: unknown): FromTarget {
  if (error instanceof ConvohouseError)
    return { kind: 'failed', code: error.code, what: error.message, hint: error.hint ?? null }
  return {
    kind: 'failed',
    code: 'PUBLICATION_FAILED',
    what: `The target cannot be written: ${safeReason(error)}`,
    hint: null,
  }
}

restrictUmask()
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
// The parent ends this process; a terminal sends its signals to both.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
process.on('message', (message: ToTarget) => {
  if (message.kind === 'table') return void tables.push(message.table)
  if (message.kind === 'complete') return void tables.push(null)
  void answer(message)
    .catch(failureOf)
    .then(reply => process.send!(reply))
})
