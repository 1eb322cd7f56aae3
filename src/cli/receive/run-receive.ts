// `convohouse receive`: takes webhooks in until it is told to end.
import { readConfig } from '../../config.ts'
import { remark, say, sayJson } from '../terminal/say.ts'
import { STOPPING, stopOnSignals, untilStopping } from '../terminal/stop.ts'
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
  if (json) sayJson({ url, port, workspaces: waitsFor })
  else
    say(
      `Waiting for webhooks of ${waitsForText(receiver)} at ${url}/webhooks; metrics at ${url}/metrics.`,
      'Ctrl-C ends it.',
    )
}

/** @throws what is wrong with configuration, secrets or address */
export async function runReceive({ config: path, host, port, json }: ReceiveFlags): Promise<void> {
  letYoungSpaceGrow()
  const config = readConfig(path === undefined ? {} : { path })
  const webhooks = { ...config.webhooks, ...(host !== undefined && { host }), ...(port !== undefined && { port }) }
  const stop = stopOnSignals(() => remark(STOPPING))
  try {
    const receiver = await openReceiver({ ...config, webhooks })
    tell(receiver, json)
    stop.aborted.addEventListener('abort', () => receiver.abort(), { once: true })
    await untilStopping(stop)
    await receiver.close()
  } finally {
    stop.release()
  }
}
