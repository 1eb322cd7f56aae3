// An answer on its way out.

import { once } from 'node:events'
import type { Writable } from 'node:stream'
import type { QueryResult, Tally } from '../../warehouse/query/results.ts'
import { formatted, type RowFormat, tableOptions } from './format.ts'
import type { TableOptions } from './table.ts'

export interface WriteRequest {
  result: QueryResult
  format: RowFormat
  /** Left open, so that standard output can take more. */
  to: Writable
  /** Told by `to` where it is not given. */
  table?: TableOptions
}

/**
 * Writes a result, no faster than it is taken, and closes it. A reader that has seen enough (`| head`) ends it quietly:
 * the query is stopped, and the tally is of what was given out until then. Other errors of the stream are thrown.
 */
export async function writeResult({ result, format, to, table = tableOptions(to) }: WriteRequest): Promise<Tally> {
  const broken = new AbortController()
  const onError = (error: Error) => broken.abort(error)
  to.on('error', onError)
  try {
    for await (const piece of formatted(result, format, table)) {
      if (broken.signal.aborted) throw broken.signal.reason
      if (!to.write(piece)) await taken(to, broken.signal)
    }
    await flushed(to, broken.signal)
  } catch (error) {
    const reason = broken.signal.aborted ? broken.signal.reason : error
    if (!isClosedPipe(reason)) throw reason
  } finally {
    await result.close()
    to.off('error', onError)
    // A broken pipe may be told a second time, for what was still on its way.
    if (broken.signal.aborted) to.on('error', () => {})
  }
  return result.tally()
}

async function taken(to: Writable, broken: AbortSignal): Promise<void> {
  if (to.destroyed) throw closedPipe()
  const closed = new AbortController()
  const onClose = () => closed.abort()
  to.once('close', onClose)
  try {
    await once(to, 'drain', { signal: AbortSignal.any([broken, closed.signal]) })
  } catch (error) {
    if (closed.signal.aborted) throw closedPipe()
    throw error
  } finally {
    to.off('close', onClose)
  }
}

/** Waits for the last piece, so that an error of it is still ours to tell. */
function flushed(to: Writable, broken: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (broken.aborted) return reject(broken.reason)
    to.write('', error => (error ? reject(error) : resolve()))
  })
}

const closedPipe = () => Object.assign(new Error('The stream is closed.'), { code: 'EPIPE' })

function isClosedPipe(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  return code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED' || code === 'ERR_STREAM_PREMATURE_CLOSE'
}
