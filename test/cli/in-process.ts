// Runs a command inside the test process, which is faster than starting another process. Commands run one at a time, because
// each replaces the environment, working directory, standard streams, exit code and umask of the test process while it runs.
import { tmpdir } from 'node:os'
import { Readable, Writable } from 'node:stream'
import { runCommand } from '../../src/cli/run-command.ts'
import { type Ended, MAIN } from './cli-process.ts'

export interface InProcessOptions {
  env?: Record<string, string>
  cwd?: string
  stdin?: string
}

function collector() {
  const pieces: Buffer[] = []
  const stream = new Writable({
    write(piece, _encoding, done) {
      pieces.push(piece)
      done()
    },
  })
  return { stream, text: () => Buffer.concat(pieces).toString() }
}

/** Sets properties of `process`; the returned function restores them. */
function replaced(properties: Record<string, unknown>): () => void {
  const before = Object.keys(properties).map(name => [name, Object.getOwnPropertyDescriptor(process, name)!] as const)
  for (const [name, value] of Object.entries(properties))
    Object.defineProperty(process, name, { value, configurable: true, enumerable: true, writable: true })
  return () => {
    for (const [name, descriptor] of before) Object.defineProperty(process, name, descriptor)
  }
}

async function run(args: readonly string[], { env = {}, cwd, stdin = '' }: InProcessOptions): Promise<Ended> {
  const { PATH, HOME } = process.env
  const [out, err] = [collector(), collector()]
  const [folder, mask, exitCode] = [process.cwd(), process.umask(), process.exitCode]
  const restore = replaced({
    env: { PATH, HOME, ...env },
    argv: [process.execPath, MAIN, ...args],
    stdin: Readable.from([Buffer.from(stdin)]),
    stdout: out.stream,
    stderr: err.stream,
  })
  process.chdir(cwd ?? tmpdir())
  process.exitCode = undefined
  try {
    await runCommand(args)
    return { code: Number(process.exitCode ?? 0), stdout: out.text(), stderr: err.text() }
  } finally {
    process.exitCode = exitCode
    process.umask(mask)
    process.chdir(folder)
    restore()
  }
}

let last: Promise<unknown> = Promise.resolve()

/** Runs the command after the previous one has ended. */
export function inProcess(args: readonly string[], options: InProcessOptions = {}): Promise<Ended> {
  const ended = last.then(() => run(args, options))
  last = ended.catch(() => {})
  return ended
}

/** Returns the rows of a query, as objects. */
export async function rowsOf(sql: string, env: Record<string, string>): Promise<Record<string, unknown>[]> {
  const { code, stdout, stderr } = await inProcess(['query', sql, '--format', 'json'], { env })
  if (code !== 0) throw new Error(stderr)
  return JSON.parse(stdout)
}

export const countConversations = async (env: Record<string, string>): Promise<number> =>
  Number((await rowsOf('SELECT count(*) AS n FROM conversations', env))[0]!.n)
