// The files of poll logs: their names, and the lines in them (poll-log.ts).
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { crc32, gunzip } from 'node:zlib'
import { namesIn } from '../files/durable.ts'
import { corrupt, type PageHead, readFirstLine } from './page.ts'
import { parsePageName } from './page-address.ts'

const inflate = promisify(gunzip)

export const LOG = /^(\d{8})\.[^.]+\.ndjson$/
const CLOSED = /^(\d{8})\..+\.closed$/
const MERGED = /^(\d{8})-(\d{8})\..+\.ndjson\.gz$/

export const isMerged = (name: string): boolean => MERGED.test(name)

/** First and last day of the windows in a log; null for another file. */
export function daysOf(name: string): [string, string] | null {
  const [, first, last] = MERGED.exec(name) ?? LOG.exec(name) ?? CLOSED.exec(name) ?? []
  return first === undefined ? null : [first, last ?? first]
}

/** The day on which the page's window was opened, `20261120`. */
export const dayOf = (address: string): string => parsePageName(address)?.window.slice(0, 8) ?? ''

export function lineOf(address: string, { head, body }: { head: PageHead; body: Uint8Array }): string {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(body)
  const rest = JSON.stringify({ page: address, head: { ...head, bodyBytes: body.length }, body: text }).slice(1)
  return `{"crc":${crc32(rest)},${rest}`
}

const LINE = /^\{"crc":(\d+),("page":("[^"]*"),.*)$/s

/** The complete lines of a log by address; the first line of an address counts. */
export function linesIn(text: string): Map<string, string> {
  const lines = new Map<string, string>()
  for (const line of text.split('\n')) {
    const [, crc, rest, page] = LINE.exec(line) ?? []
    if (rest === undefined || crc32(rest) !== Number(crc)) continue
    const address = JSON.parse(page!) as string
    if (!lines.has(address)) lines.set(address, line)
  }
  return lines
}

export async function readLog(file: string): Promise<Map<string, string>> {
  const bytes = await readFile(file)
  if (!file.endsWith('.gz')) return linesIn(bytes.toString())
  return linesIn(
    await inflate(bytes).then(
      text => text.toString(),
      cause => {
        throw corrupt(file, cause)
      },
    ),
  )
}

/** Reads the addresses alone: a merged log begins with them, in a gzip member of its own. */
export async function readAddresses(file: string): Promise<readonly string[]> {
  if (!file.endsWith('.gz')) return [...(await readLog(file)).keys()]
  const line = await readFirstLine(file)
  if (line === undefined) throw corrupt(file)
  return (JSON.parse(line) as { _polls: string[] })._polls
}

/** The logs of a month's folder, in order of their names. */
export const logsIn = async (folder: string): Promise<string[]> =>
  (await namesIn(folder))
    .filter(name => daysOf(name) !== null)
    .sort()
    .map(name => join(folder, name))
