// `convohouse receive`: receives webhooks until it is stopped.
import { readConfig } from '../../config.ts'
import { makeFolder } from '../../files/durable.ts'
import { spoolRoot } from '../../spool/folders.ts'
import { metricsOf } from '../serve-metrics.ts'
import { log, print, printJsonLine, stampLines } from '../terminal/print.ts'
import { STOPPING, stopOnSignals, untilStopping } from '../terminal/signals.ts'
import { letYoungSpaceGrow } from '../young-space.ts'
import { CLOSE_MS, type OpenedReceiver, openReceiver, rereadSecretsOnSighup, waitsForText } from './open-receiver.ts'

export interface ReceiveFlags {
  config?: string
  host?: string
  port?: number
  json?: boolean
}

function tell(receiver: OpenedReceiver, json: boolean | undefined): void {
  const { url, port, waitsFor } = receiver
  if (json) printJsonLine({ url, port, workspaces: waitsFor() })
  else
    print(
      `Waiting for webhooks of ${waitsForText(receiver)} at ${url}/webhooks; metrics at ${url}/metrics.`,
      'Press Ctrl-C to stop.',
    )
}

const configAt = ({ config: path }: ReceiveFlags) => readConfig(path === undefined ? {} : { path })

/** @throws for a configuration, secret, address or data folder with which no event could be acknowledged */
export async function runReceive(flags: ReceiveFlags): Promise<void> {
  letYoungSpaceGrow()
  stampLines()
  const { host, port, json } = flags
  const config = configAt(flags)
  const webhooks = { ...config.webhooks, ...(host !== undefined && { host }), ...(port !== undefined && { port }) }
  let receiver: OpenedReceiver | undefined
  const leaveHangUp = rereadSecretsOnSighup({
    receiver: () => receiver,
    readConfig: () => configAt(flags),
    tell: opened => tell(opened, json),
  })
  const stop = stopOnSignals(() => log(STOPPING))
  try {
    await makeFolder(spoolRoot(config.home))
    const opened = await openReceiver({ ...config, webhooks }, metricsOf(config, 'receive').page)
    receiver = opened
    tell(opened, json)
    stop.aborted.addEventListener('abort', () => opened.abort(), { once: true })
    await untilStopping(stop)
    await opened.closeWithin(CLOSE_MS)
  } finally {
    stop.release()
    leaveHangUp()
  }
}
