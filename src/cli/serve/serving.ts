// What `serve` and `mcp` answer from: the readers of the snapshot, the metrics, the pages, and the classes of the snapshot's columns.
import { fileURLToPath } from 'node:url'
import type { Config } from '../../config.ts'
import { allMetrics } from '../../metrics/own-metrics.ts'
import { type ColumnClasses, columnClasses, plainColumns } from '../../serve/column-classes.ts'
import { DeclaredMetrics } from '../../serve/declared-metrics.ts'
import { Pages } from '../../serve/pages.ts'
import { awaitReaders } from '../../serve/readers/awaited-readers.ts'
import { openSnapshotReaders, type SnapshotReaders } from '../../serve/readers/snapshot-readers.ts'
import { errorLines } from '../terminal/error-text.ts'
import { log } from '../terminal/print.ts'
import { styleOf } from '../terminal/style.ts'

export interface Serving {
  readers: SnapshotReaders
  metrics: DeclaredMetrics
  pages: Pages
  classes: ColumnClasses
}

const MAX_SPILL = '4GB'
/** The built dashboard. */
export const WEB = fileURLToPath(new URL('../../web/', import.meta.url))
const QUERY_PROCESS = new URL('../serve/readers/query-process.js', import.meta.url)
const OWN_HINT =
  'It is published once the warehouse has data: by `serve`, at once if no other process holds the warehouse; else by that process, if its configuration has `serve`.'

/** Logs why some of the user's metrics cannot be used. `folder`: for the files of the processes that read. @throws HOME_UNUSABLE */
export async function openServing(config: Config, folder: string): Promise<Serving> {
  const { serve, publish, threads } = config
  const classes = await columnClasses(config.models, serve.target.pii)
  const { metrics, problems } = await allMetrics(config.metrics)
  for (const problem of problems) log(`warning: ${problem}`)
  const open = () =>
    openSnapshotReaders({
      ...{ file: serve.target.path, folder, entry: QUERY_PROCESS },
      ...{ memoryLimit: publish.memoryLimit, threads, maxSpill: MAX_SPILL },
      plainColumns: plainColumns(classes),
      onProblem: error => log(...errorLines(error, styleOf(process.stderr))),
    })
  const readers = await awaitReaders(open, serve.isOwn ? OWN_HINT : `Run \`convohouse publish ${serve.target.name}\`.`)
  const pages = new Pages({ folder: config.pages, metrics, onProblem: problem => log(`warning: ${problem}`) })
  return { readers, metrics: new DeclaredMetrics(metrics, classes), pages, classes }
}
