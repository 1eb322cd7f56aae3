// Starts the process of a target and sends it requests.
import { type ChildProcess, fork } from 'node:child_process'
import { targetEnvironment } from '../config/s3.ts'
import { ownEnvironment } from '../config.ts'
import { ConvohouseError, ERRORS, type ErrorCode } from '../core/errors.ts'
import type { PackagedTable, PackageHead, Sums } from './package.ts'
import type { FromTarget, SummedTable, TargetSettings, ToTarget } from './target-port.ts'
import type { TargetWatermark } from './watermark.ts'

/** URL of the compiled process. The relative path is valid from this file's compiled form and from the command's bundle. */
const TARGET_PROCESS = new URL('../publish/target-process.js', import.meta.url)

/** A package that is applied while it is written. */
export interface Application {
  /** Passes a table whose files are written. @throws the target's error, if it has failed */
  add(table: PackagedTable): void
  /** Announces the end of the tables, and waits until the target has the new state. */
  complete(): Promise<void>
}

export interface TargetClient {
  /** The target's watermark. The target stays locked until `close`. */
  watermark: TargetWatermark | null
  /** Begins to apply a package that is still being written. */
  apply(head: PackageHead): Application
  sums(tables: readonly SummedTable[]): Promise<Sums>
  /** Maintains the target. @returns why maintenance failed, or null */
  maintain(): Promise<string | null>
  /** Ends the process, which releases the target and discards an incomplete state. */
  close(): Promise<void>
}

const failed = (what: string): ConvohouseError =>
  new ConvohouseError('PUBLICATION_FAILED', {
    what,
    hint: 'Run `convohouse publish` again. If it fails for memory, raise `publish.memoryLimit`.',
  })

const errorOf = ({ code, what, hint }: Extract<FromTarget, { kind: 'failed' }>): ConvohouseError =>
  Object.hasOwn(ERRORS, code)
    ? new ConvohouseError(code as ErrorCode, { what, ...(hint !== null && { hint }) })
    : failed(what)

const send = (child: ChildProcess, message: ToTarget): boolean => child.send(message, () => {})

/** Sends one message and awaits its answer. @throws the target's error; PUBLICATION_FAILED if its process ends or `signal` aborts */
function ask<K extends FromTarget['kind']>(
  child: ChildProcess,
  { message, kind, signal }: { message: ToTarget; kind: K; signal: AbortSignal },
): Promise<Extract<FromTarget, { kind: K }>> {
  return new Promise((resolve, reject) => {
    const settle = (end: () => void) => {
      child.off('message', answered)
      child.off('close', ended)
      signal.removeEventListener('abort', aborted)
      end()
    }
    const answered = (answer: FromTarget) =>
      settle(() => {
        if (answer.kind === 'failed') reject(errorOf(answer))
        else if (answer.kind === kind) resolve(answer as Extract<FromTarget, { kind: K }>)
        else reject(new Error(`The process of a target answered ${answer.kind} instead of ${kind}`))
      })
    const ended = (code: number | null, by: string | null) =>
      settle(() => reject(failed(`The process that writes the target ended (${by ?? `exit code ${code}`}).`)))
    const aborted = () => settle(() => reject(signal.reason))
    if (signal.aborted) return reject(signal.reason)
    // The process may have ended with no request pending.
    if (child.exitCode !== null || child.signalCode !== null) return ended(child.exitCode, child.signalCode)
    child.on('message', answered)
    child.on('close', ended)
    signal.addEventListener('abort', aborted)
    send(child, message)
  })
}

interface Started {
  signal: AbortSignal
  entry?: URL | undefined
}

function startProcess(entry: URL, { target }: TargetSettings): { child: ChildProcess; close(): Promise<void> } {
  const env = targetEnvironment(target, ownEnvironment())
  const child = fork(entry, [], { env, execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const ended = new Promise<void>(resolve => {
    child.once('close', () => resolve())
    child.once('error', () => resolve())
  })
  const close = async () => {
    child.kill('SIGKILL')
    await ended
  }
  return { child, close }
}

/** Probes a target from a separate process. @returns its findings @throws TARGET_UNUSABLE, TARGET_LOCKED, SECRET_MISSING, EXTENSION_UNAVAILABLE */
export async function probeTarget(
  settings: TargetSettings,
  { signal, entry = TARGET_PROCESS }: Started,
): Promise<string> {
  const { child, close } = startProcess(entry, settings)
  try {
    return (await ask(child, { message: { kind: 'probe', settings }, kind: 'probed', signal })).found
  } finally {
    await close()
  }
}

function applyTo(child: ChildProcess, { head, signal }: { head: PackageHead; signal: AbortSignal }): Application {
  const applied = ask(child, { message: { kind: 'apply', head }, kind: 'applied', signal })
  let failure: { error: unknown } | null = null
  applied.catch(error => {
    failure = { error }
  })
  return {
    add(table) {
      if (failure) throw failure.error
      send(child, { kind: 'table', table })
    },
    async complete() {
      send(child, { kind: 'complete' })
      await applied
    },
  }
}

/** Starts the process, which locks the target. @throws TARGET_LOCKED, TARGET_UNUSABLE, PUBLICATION_FAILED */
export async function openTarget(
  settings: TargetSettings,
  { signal, entry = TARGET_PROCESS }: Started,
): Promise<TargetClient> {
  const { child, close } = startProcess(entry, settings)
  try {
    const { watermark } = await ask(child, { message: { kind: 'open', settings }, kind: 'opened', signal })
    return {
      watermark,
      apply: head => applyTo(child, { head, signal }),
      async sums(tables) {
        return (await ask(child, { message: { kind: 'sums', tables: [...tables] }, kind: 'sums', signal })).sums
      },
      async maintain() {
        return (await ask(child, { message: { kind: 'maintain' }, kind: 'maintained', signal })).failure
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}
