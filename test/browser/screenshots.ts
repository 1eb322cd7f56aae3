// npm run screenshots -- [--url URL] [FOLDER]: writes pictures of all pages of a dashboard, for people to look at: desktop and phone, light
// and dark, and print. Without an address it serves the demo's data, three agents of which one is empty, and 200 agents with long names.
import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { DuckDBInstance } from '@duckdb/node-api'
import type { Browser, BrowserContextOptions, Page as Tab } from 'playwright-core'
import { startSandbox } from '../../src/sandbox/server.ts'
import { warehouseFile } from '../../src/warehouse/warehouse-file.ts'
import { CLI, inFolder, serving, TOKEN, WORKSPACE } from '../bench/command.ts'
import { openBrowser, openPage, settled } from './browser.ts'

const DESKTOP = { width: 1_440, height: 900 }
const PHONE = { width: 390, height: 844 }

type Variant = BrowserContextOptions & { media?: 'print' }

const VARIANTS: Readonly<Record<string, Variant>> = {
  light: { viewport: DESKTOP, colorScheme: 'light' },
  dark: { viewport: DESKTOP, colorScheme: 'dark' },
  'phone-light': { viewport: PHONE, colorScheme: 'light' },
  'phone-dark': { viewport: PHONE, colorScheme: 'dark' },
  print: { viewport: { width: 794, height: 1_123 }, colorScheme: 'dark', media: 'print' },
}

/** Returns the addresses of all pages by name, and of the first conversation of the list. */
async function pagesOf(tab: Tab, url: string): Promise<Map<string, string>> {
  const linksOf = async (selector: string): Promise<[string, string][]> =>
    (await tab.$$eval(selector, all => all.map(one => [one.textContent!.trim(), one.getAttribute('href')!]))) as [
      string,
      string,
    ][]
  await tab.goto(url)
  await settled(tab)
  const pages = new Map((await linksOf('nav li a')).map(([title, href]) => [title.toLowerCase(), href]))
  await tab.goto(new URL(pages.get('conversations')!, url).href)
  await settled(tab)
  const [conversation] = await linksOf('main a[href*="conversations/"]')
  if (conversation) pages.set('conversation', conversation[1])
  return pages
}

async function shoot(browser: Browser, url: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const first = await openPage(browser)
  const pages = await pagesOf(first.page, url)
  await first.page.context().close()
  for (const [variant, { media, ...options }] of Object.entries(VARIANTS)) {
    const { page: tab, complaints } = await openPage(browser, options)
    if (media) await tab.emulateMedia({ media })
    for (const [name, href] of pages) {
      await tab.goto(new URL(href, url).href)
      await settled(tab)
      await tab.screenshot({ path: join(folder, `${name.replace(/\W+/g, '-')}-${variant}.png`), fullPage: true })
    }
    if (complaints.length > 0) console.error(`${folder}, ${variant}: ${complaints.join('\n')}`)
    await tab.context().close()
  }
  console.log(`${pages.size * Object.keys(VARIANTS).length} pictures in ${folder}`)
}

const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  promisify(execFile)(process.execPath, [CLI, ...args], { env: { ...process.env, ...env }, maxBuffer: 1e8 })

/** Serves what is in `home`, with its configuration, for the duration of `work`. */
const served = (home: string, work: (url: string) => Promise<void>): Promise<void> =>
  serving(
    [CLI, 'serve', '--config', join(home, 'convohouse.yaml'), '--address', '127.0.0.1:0', '--json'],
    { CONVOHOUSE_API_TOKEN: TOKEN },
    port => work(`http://127.0.0.1:${port}`),
  )

/** Fills `home` with a sync of a sandbox with these agents. */
async function sync(home: string, options: { agents: number; conversations: number }): Promise<void> {
  const sandbox = await startSandbox({ port: 0, hourlyRequests: 1e5, quotaSessions: 1e6, ...options })
  const config = join(home, 'convohouse.yaml')
  const workspace = `{ id: ${WORKSPACE}, apiUrl: ${sandbox.url}, token: { env: CONVOHOUSE_API_TOKEN } }`
  const pii = '{ identity: keep, staff: keep, device: keep, content: keep, label: keep }'
  await writeFile(config, `home: .\nserve:\n  pii: ${pii}\nworkspaces:\n  - ${workspace}\n`)
  await run(['sync', '--yes', '--config', config], { CONVOHOUSE_API_TOKEN: TOKEN }).finally(() => sandbox.close())
}

/** Runs a statement on each table of the warehouse that has the column. */
async function onTablesWith(home: string, column: string, statement: (table: string) => string): Promise<void> {
  const instance = await DuckDBInstance.create(warehouseFile(home))
  const connection = await instance.connect()
  const found = await connection.runAndReadAll(
    `SELECT DISTINCT format('"{}"."{}"', schema_name, table_name) FROM duckdb_columns() WHERE column_name = '${column}'
      AND table_oid IN (SELECT table_oid FROM duckdb_tables())`,
  )
  for (const [table] of found.getRows()) await connection.run(statement(String(table)))
  connection.closeSync()
  instance.closeSync()
}

const LONG_NAME = `agent_title || ' for customers of the northern region, evenings and weekends (second attempt)'`

const WORLDS: Readonly<Record<string, (home: string) => Promise<unknown>>> = {
  demo: home => run(['demo', '--home', home]),
  'one-empty': async home => {
    await sync(home, { agents: 3, conversations: 2_000 })
    const empty = `(SELECT agent_id FROM agents ORDER BY title LIMIT 1)`
    await onTablesWith(home, 'conversation_id', table => `DELETE FROM ${table} WHERE agent_id = ${empty}`)
  },
  many: async home => {
    await sync(home, { agents: 200, conversations: 20_000 })
    await onTablesWith(home, 'agent_title', table => `UPDATE ${table} SET agent_title = ${LONG_NAME}`)
  },
}

const { values, positionals } = parseArgs({ allowPositionals: true, options: { url: { type: 'string' } } })
const folder = resolve(positionals[0] ?? 'screenshots')
const browser = await openBrowser()
try {
  if (values.url) await shoot(browser, values.url, folder)
  else
    for (const [world, fill] of Object.entries(WORLDS))
      await inFolder(async home => {
        await fill(home)
        await served(home, url => shoot(browser, url, join(folder, world)))
      })
} finally {
  await browser.close()
}
