// A proxy that echoes the request, including its token, in billed answers.

import { readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { openLanding } from '../../src/landing/folder-landing.ts'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { temporaryFolder } from '../cli/cli-process.ts'
import { inProcess } from '../cli/in-process.ts'
import { listening } from '../ports.ts'
import { TOKEN } from './simulated/open-simulated-app.ts'
import { isProbeQuery } from './simulated/probe.ts'
import { simulatedApp } from './simulated/simulated-app.ts'

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const inHtml = (text: string): string => text.replaceAll('-', '&#45;')

/** Texts that reveal the token. Its Base64 form depends on how many bytes precede it, hence three offsets. */
const FORMS = [
  TOKEN,
  TOKEN.replaceAll('-', '%2D'),
  inHtml(TOKEN),
  ...['', ' ', '  '].map(before => base64(before + TOKEN).slice(4, -4)),
]

const DUMP = `GET /export\nmarker: kept\nauthorization: Bearer ${TOKEN}\nother: ${TOKEN.replaceAll('-', '%2D')}`

interface Echo {
  headers?: Record<string, string>
  body: Buffer
  /** True if the answer is a normal page with the fields of `body` added, not `body` alone. */
  isPage?: true
}

const ECHOES: Echo[] = [
  { body: gzipSync(DUMP), headers: { 'content-encoding': 'gzip' } },
  { body: deflateSync(DUMP), headers: { 'content-encoding': 'deflate' } },
  { body: brotliCompressSync(DUMP), headers: { 'content-encoding': 'br' } },
  { body: Buffer.from(JSON.stringify({ success: false, message: DUMP })) },
  { body: Buffer.from(JSON.stringify({ echo: `marker: kept ${base64(DUMP)}` })) },
  { body: Buffer.from(`<html>marker: kept ${inHtml(DUMP)}</html>`) },
  { body: Buffer.from(`<html>marker: kept ${base64(TOKEN)}`), headers: { 'content-length': '1000' } },
  { body: Buffer.from(JSON.stringify({ debug: { headers: DUMP } })), isPage: true },
]

/** Returns a proxy that echoes the token in the answers to exports, in a different way for each agent. */
async function echoingProxy({ url, world }: Sandbox): Promise<string> {
  const agents = world.agentIds()
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url!, url)
    const [, , , agentId, , last] = pathname.split('/')
    const isPage = last === 'export' && !isProbeQuery(searchParams.get('fromTs'), searchParams.get('toTs'))
    const echo = isPage ? ECHOES[agents.indexOf(agentId!)] : undefined
    if (echo && !echo.isPage) {
      response.writeHead(200, { 'content-type': 'text/html', ...echo.headers })
      response.write(echo.body.subarray(0, 20), () =>
        response.write(echo.body.subarray(20), () =>
          echo.headers?.['content-length'] ? response.destroy() : response.end(),
        ),
      )
      return
    }
    const headers = { authorization: request.headers.authorization! }
    const answer = Buffer.from(await (await fetch(new URL(request.url!, url), { headers })).arrayBuffer())
    const body = echo ? { ...JSON.parse(String(answer)), ...JSON.parse(String(echo.body)) } : null
    response.writeHead(200, { 'content-type': 'application/json' }).end(body ? JSON.stringify(body) : answer)
  })
  return `http://127.0.0.1:${await listening(server)}`
}

/** Returns the text of a file, decompressed if it is compressed, regardless of its name. */
function readings(bytes: Buffer): string {
  const inner = [gunzipSync, inflateSync, brotliDecompressSync].flatMap(unpack => {
    try {
      return [unpack(bytes)]
    } catch {
      return []
    }
  })
  return Buffer.concat([bytes, ...inner]).toString('latin1')
}

async function filesBelow(folder: string): Promise<{ path: string; text: string }[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter(entry => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  return Promise.all(paths.map(async path => ({ path, text: readings(await readFile(path)) })))
}

const holds = (text: string): boolean => FORMS.some(form => text.includes(form))

it('no file contains a token that an answer echoes, in any encoding or compression, and readable answers are kept', async () => {
  const agents = ECHOES.length
  const simulated = await simulatedApp({
    sandbox: { agents, conversations: 40 },
    through: echoingProxy,
  })
  const { home } = simulated.config
  const report = await simulated.sync()
  expect(report.gaps).not.toHaveLength(0)
  expect(holds(JSON.stringify([report, simulated.updates]))).toBe(false)
  const issues = await simulated.rows(
    `SELECT issue, sum(occurrences)::INTEGER AS n FROM _issues WHERE path = '(API token)' GROUP BY 1`,
  )
  expect(issues).toEqual([{ issue: 'secret removed', n: 2 }])
  expect(await simulated.rows('SELECT count(*) > 0 AS there FROM conversations')).toEqual([{ there: true }])
  await simulated.close()

  expect((await filesBelow(home)).filter(({ text }) => holds(text)).map(({ path }) => path)).toEqual([])
  const failed = (await filesBelow(join(home, 'landing', 'ws_demo', 'failed'))).map(({ text }) => text)
  expect(failed.length).toBeGreaterThanOrEqual(agents - 1)
  for (const text of failed) expect(text).toMatch(/marker: kept.*\*\*\*|cannot be searched for the API token/s)
  const env = {
    CONVOHOUSE_HOME: home,
    CONVOHOUSE_API_URL: 'http://127.0.0.1:1',
    CONVOHOUSE_API_TOKEN: TOKEN,
    CONVOHOUSE_WORKSPACE: 'ws_demo',
  }
  for (const command of ['status', 'doctor']) {
    const { stdout, stderr } = await inProcess([command], { env })
    expect(stdout).toContain('ws_demo')
    expect(holds(stdout + stderr)).toBe(false)
  }
})

it('the same search finds the token in each of these answers if nothing is masked', async () => {
  const home = await temporaryFolder()
  const landing = openLanding(home).workspace('ws_demo')
  for (const [atMs, { body }] of ECHOES.entries()) await landing.landFailed({ atMs, agentId: 'a', status: 200, body })
  const files = await filesBelow(home)
  expect(files.map(({ text }) => holds(text))).toEqual(ECHOES.map(() => true))
})
