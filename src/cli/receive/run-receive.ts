// `convohouse receive`: takes webhooks in until it is told to end. A service is told by SIGHUP to read its secrets anew; in a terminal, which
// sends that when it is closed, it ends.
import { readConfig } from '../../config.ts'
import { errorLines } from '../failure/failure-text.ts'
import { remark, say, sayJson } from '../terminal/say.ts'
import { ENDING_SIGNALS } from '../terminal/signals.ts'
import { STOPPING, stopOnSignals, untilStopping } from '../terminal/stop.ts'
import { isTerminal, styleOf } from '../terminal/style.ts'
import { letYoungSpaceGrow } from '../young-space.ts'
import { type OpenedReceiver, openReceiver, waitsForText } from './open-receiver.ts'

export interface ReceiveFlags {
  config?: string
  host?: string
  port?: number
  json?: boolean
}

function tell(receiver: OpenedReceiver, json: boolean | undefined): void {
  const { url, port, waitsFor } = receiver
  if (json) sayJson({ url, port, workspaces: waitsFor() })
  else
    say(
      `Waiting for webhooks of ${waitsForText(receiver)} at ${url}/webhooks; metrics at ${url}/metrics.`,
      'Ctrl-C ends it.',
    )
}

/** Somebody sits there. */
const isInTerminal = (): boolean => [process.stdin, process.stdout, process.stderr].some(isTerminal)

const configAt = ({ config: path }: ReceiveFlags) => readConfig(path === undefined ? {} : { path })

function readAnew(receiver: OpenedReceiver, flags: ReceiveFlags): void {
  try {
    receiver.readSecretsAnew(configAt(flags))
    tell(receiver, flags.json)
  } catch (error) {
    remark(...errorLines(error, styleOf(process.stderr)), 'The secrets of before stay valid.')
  }
}

/** @throws what is wrong with configuration, secrets or address */
export async function runReceive(flags: ReceiveFlags): Promise<void> {
  letYoungSpaceGrow()
  const { host, port, json } = flags
  const config = configAt(flags)
  const webhooks = { ...config.webhooks, ...(host !== undefined && { host }), ...(port !== undefined && { port }) }
  const inTerminal = isInTerminal()
  const ending = ENDING_SIGNALS.filter(signal => inTerminal || signal !== 'SIGHUP')
  const stop = stopOnSignals(() => remark(STOPPING), ending)
  let receiver: OpenedReceiver | undefined
  // From the start: one that comes too early changes nothing.
  const hungUp = () => receiver && readAnew(receiver, flags)
  if (!inTerminal) process.on('SIGHUP', hungUp)
  try {
    const opened = await openReceiver({ ...config, webhooks })
    receiver = opened
    tell(opened, json)
    stop.aborted.addEventListener('abort', () => opened.abort(), { once: true })
    await untilStopping(stop)
    await opened.close()
  } finally {
    stop.release()
    process.off('SIGHUP', hungUp)
  }
}
