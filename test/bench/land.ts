// Cost of landing a page: the real code inspects, compresses and fsyncs it. Compared with only writing the compressed bytes to a file and
// syncing file and folder. Neither includes parsing, since a sync parses each page anyway to read its envelope.
//
// Both run in turns in new folders, with one and with four concurrent writers, as in a sync. Milliseconds per page are wall time divided by
// the number of pages.
import { mkdir, mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { conversation } from '../../src/catalog/conversation/conversation.ts'
import { compileInspection } from '../../src/catalog/inspection/inspect.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import type { PageHead } from '../../src/landing/page.ts'
import { CONCURRENT_WINDOWS } from '../../workflows/window-loop.ts'
import { landedFile } from '../landing/landed-file.ts'
import { landExport } from './landed-export.ts'
import { type BenchOptions, median, rounded, seconds } from './measure.ts'

interface Page {
  head: PageHead
  body: Buffer
  records: unknown[]
  /** The bytes of the landed file, head and compressed body. */
  landed: Buffer
}

const inspect = compileInspection(conversation)

async function pagesOf(home: string, options: BenchOptions): Promise<Page[]> {
  const { workspaceId } = await landExport(home, options)
  const landing = openLanding(home).workspace(workspaceId)
  const pages: Page[] = []
  for (const { address: path } of await landing.list()) {
    const body = await landing.body(path)
    const { data } = JSON.parse(body.toString()) as { data: unknown[] }
    const [head, landed] = [await landing.head(path), await readFile(landedFile(home, path))]
    pages.push({ head, body, records: data, landed })
  }
  return pages
}

/** Milliseconds per page with that number of concurrent writers. */
async function msPerPage(
  writers: number,
  pages: readonly Page[],
  work: (page: Page, index: number) => Promise<unknown>,
) {
  const left = [...pages.entries()].reverse()
  const writer = async () => {
    for (let next = left.pop(); next; next = left.pop()) await work(next[1], next[0])
  }
  const taken = await seconds(() => Promise.all(Array.from({ length: writers }, writer)))
  return (taken * 1_000) / pages.length
}

async function writeDurably(file: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(file, 'wx', 0o600)
  await handle.writeFile(bytes)
  await handle.sync()
  await handle.close()
  const folder = await open(dirname(file), 'r')
  await folder.sync()
  await folder.close()
}

interface Measured {
  landing: number[]
  writing: number[]
}

async function measure(folder: string, writers: number, pages: readonly Page[], measured: Measured): Promise<void> {
  const [home, plain] = [join(folder, 'landing'), join(folder, 'plain')]
  await mkdir(plain, { recursive: true })
  const landing = openLanding(home).workspace('ws_bench')
  const land = ({ head, body, records }: Page) => landing.land({ ...head, notes: inspect(records) }, body)
  measured.landing.push(await msPerPage(writers, pages, land))
  const write = ({ landed }: Page, index: number) => writeDurably(join(plain, `${index}.json.gz`), landed)
  measured.writing.push(await msPerPage(writers, pages, write))
  await rm(folder, { recursive: true })
}

export async function landBench(options: BenchOptions): Promise<Record<string, number>> {
  const folder = await mkdtemp(join(tmpdir(), 'convohouse-bench-'))
  try {
    const pages = await pagesOf(join(folder, 'source'), options)
    const kilobytes = (of: (page: Page) => Buffer) => pages.reduce((sum, page) => sum + of(page).length, 0) / 1_000
    const [sent, kept] = [kilobytes(page => page.body) / pages.length, kilobytes(page => page.landed) / pages.length]
    console.log(`${pages.length} pages of ${rounded(sent, 0)} KB; ${rounded(kept, 0)} KB of it land`)
    const alone: Measured = { landing: [], writing: [] }
    const together: Measured = { landing: [], writing: [] }
    for (let round = 0; round < options.rounds; round++) {
      for (const [writers, measured] of [[1, alone] as const, [CONCURRENT_WINDOWS, together] as const]) {
        await measure(join(folder, 'round'), writers, pages, measured)
        const [landing, writing] = [measured.landing.at(-1)!, measured.writing.at(-1)!]
        console.log(
          `round ${round + 1}, ${writers} at once: landing ${rounded(landing)} ms per page, only writing ${rounded(writing)} ms`,
        )
      }
    }
    const ratio = ({ landing, writing }: Measured) => rounded(median(landing) / median(writing))
    return {
      msPerPage: rounded(median(together.landing)),
      ratioToWrite: ratio(together),
      msPerPageAlone: rounded(median(alone.landing)),
      ratioToWriteAlone: ratio(alone),
      pages: pages.length,
      pageKb: rounded(sent, 0),
      landedKb: rounded(kept, 0),
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
