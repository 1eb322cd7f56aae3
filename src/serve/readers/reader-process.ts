// Starts one process that reads the snapshot, watches its memory, and sends it requests.
import { type ChildProcess, fork } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { setPriority, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConvohouseError, type ErrorCode } from '../../core/errors.ts'
import { SECOND } from '../../core/time.ts'
import { bytes, sizeOf } from '../../core/words.ts'
import { errorFrom } from '../../warehouse/query/http/protocol.ts'
import type { SnapshotSettings } from '../../warehouse/query/snapshot.ts'
import type { FromQueryProcess, OpenQueryProcess, Role, SnapshotState } from './query-port.ts'

export interface ProcessSettings extends Omit<SnapshotSettings, 'spillFolder' | 'scratch'> {
  /** URL of the compiled `query-process.ts`. */
  entry: URL
  /** Folder for spill files and files of answers. */
  folder: string
}

export interface ReaderProcess {
  state: SnapshotState
  /** Resolves when the process has ended, with the reason for requests that it has not answered. */
  ended: Promise<ConvohouseError>
  /** Posts a request. @throws INTERRUPTED; QUERY_MEMORY, QUERY_TIMEOUT or WAREHOUSE_ENDED if the process ends first */
  post(path: string, body: object, options: { accept: string; signal?: AbortSignal }): Promise<IncomingMessage>
  /** Ends the process and removes its files. */
  close(): Promise<void>
}

/** Memory besides what DuckDB counts: JavaScript, pages in flight, allocations of DuckDB's functions. */
const BESIDE_BYTES = 512 * 2 ** 20

/** @throws TARGET_UNUSABLE if the snapshot cannot be opened */
export async function startReader(role: Role, { entry, folder, ...settings }: ProcessSettings): Promise<ReaderProcess> {
  // In the system's folder, since the path of a socket has at most 103 bytes.
  const socketFolder = await mkdtemp(join(tmpdir(), 'convohouse-serve-'))
  const own = await mkdtemp(join(folder, `${process.pid}-${role}-`))
  const socketPath =
    process.platform === 'win32' ? `\\\\.\\pipe\\${basename(socketFolder)}` : join(socketFolder, 'socket')
  // A query occupies a thread of libuv's for as long as it runs.
  const env = { UV_THREADPOOL_SIZE: '16' }
  const child = fork(entry, [], { env, execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const ended = endOf(child, 1.25 * sizeOf(settings.memoryLimit) + BESIDE_BYTES)
  const agent = new Agent({ keepAlive: true })
  const close = async () => {
    child.kill('SIGKILL')
    await ended
    agent.destroy()
    for (const path of [socketFolder, own]) await rm(path, { recursive: true, force: true })
  }
  void ended.then(close)
  const post: ReaderProcess['post'] = (path, body, { accept, signal }) =>
    new Promise((resolve, reject) => {
      const text = JSON.stringify(body)
      const headers = { Accept: accept, 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }
      const to = { socketPath, agent, path, method: 'POST', headers }
      const request = httpRequest({ ...to, ...(signal && { signal }) })
      // Stays registered for errors of a connection that breaks later. The end of the process is noticed after that of its connections.
      request.on('error', () => {
        if (signal?.aborted) reject(new ConvohouseError('INTERRUPTED', { what: 'The query was stopped.' }))
        else void Promise.race([ended, sleep(SECOND).then(broken)]).then(reject)
      })
      request.once('response', resolve)
      request.end(text)
    })
  try {
    const [spillFolder, scratch] = [join(own, 'spill'), role === 'file' ? own : null]
    const message: OpenQueryProcess = { ...settings, role, socket: socketPath, spillFolder, scratch }
    const state = await new Promise<SnapshotState>((resolve, reject) => {
      void ended.then(reject)
      child.on('message', (answer: FromQueryProcess) => {
        if (answer.kind === 'opened') resolve(answer.state)
        if (answer.kind === 'failed') reject(errorFrom(answer))
      })
      child.send(message, () => {})
    })
    if (role !== 'declared') lowerPriority(child.pid!)
    return { state, ended, close, post }
  } catch (error) {
    await close()
    throw error
  }
}

/** On Linux a priority belongs to a thread; threads inherit it from the one that starts them. */
function lowerPriority(pid: number): void {
  try {
    const threads = process.platform === 'linux' ? readdirSync(`/proc/${pid}/task`).map(Number) : [pid]
    for (const thread of threads) setPriority(thread, 10)
  } catch {
    // The process or a thread has ended.
  }
}

/** Resolves when the process has ended. Ends it when its memory passes the bound: DuckDB does not count all of it. */
function endOf(child: ChildProcess, mostBytes: number): Promise<ConvohouseError> {
  let reason = broken()
  const endFor = (error: ConvohouseError) => {
    reason = error
    child.kill('SIGKILL')
  }
  const check = (rss: number) => {
    if (rss > mostBytes)
      endFor(
        endedWith(
          'QUERY_MEMORY',
          `The process that ran the query was ended, far above its limit: ${bytes(rss)} of memory.`,
        ),
      )
  }
  const timer = setInterval(() => check(residentBytes(child.pid!)), 100)
  child.on('message', (message: FromQueryProcess) => {
    if (message.kind === 'memory') check(message.bytes)
    if (message.kind === 'overdue')
      endFor(
        endedWith('QUERY_TIMEOUT', 'A query could not be interrupted after its timeout, so its process was ended.'),
      )
  })
  return new Promise(resolve => {
    const end = () => {
      clearInterval(timer)
      resolve(reason)
    }
    child.once('exit', end).once('error', end)
  })
}

/** Returns 0 where another process's memory cannot be read: the process then reports it itself. */
function residentBytes(pid: number): number {
  try {
    return 1_024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
  } catch {
    return 0
  }
}

/** The error of a request whose process has ended, or does not run. */
export const broken = () => endedWith('WAREHOUSE_ENDED', 'The process that runs queries ended before the answer did.')

const endedWith = (code: ErrorCode, what: string) =>
  new ConvohouseError(code, {
    what,
    hint: 'If another query was the cause, try again; else query fewer rows, or smaller values.',
  })
