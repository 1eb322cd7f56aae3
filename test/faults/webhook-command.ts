// Commands that receive or apply webhook events of a workspace `ws`, as processes that tests kill. The vendor's address does not answer.
import { eventId } from '../../src/receiver/parse-event.ts'
import { openSpool } from '../../src/spool/spool.ts'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { type CliOptions, type Running, start } from '../cli/cli-process.ts'

export const SECRET = 'whsec-canary-9c1d'

export const webhookEnv = (home: string): Record<string, string> => ({
  CONVOHOUSE_API_URL: 'http://127.0.0.1:1',
  CONVOHOUSE_API_TOKEN: 'none',
  CONVOHOUSE_WORKSPACE: 'ws',
  CONVOHOUSE_HOME: home,
  CONVOHOUSE_WEBHOOK_SECRET: SECRET,
})

/** Starts a command on that data folder; it is killed when the test ends. */
export const webhookCommand = (home: string, args: readonly string[], options: CliOptions = {}): Running =>
  start(args, { ...options, env: webhookEnv(home) })

/** Starts a receiver. */
export async function startReceiver(home: string, options: CliOptions = {}) {
  const running = webhookCommand(home, ['receive', '--port', '0', '--json'], options)
  const { port, url } = JSON.parse(await running.firstLine()) as { port: number; url: string }
  return { running, port, url }
}

/** Puts messages into the spool, as a separate segment. */
export async function receive(home: string, texts: readonly string[]): Promise<void> {
  const [spool, type] = [openSpool({ home, now: Date.now }), 'message_received']
  const appended = texts.map(messageContent => {
    const createdAt = Date.now()
    const payload = Buffer.from(JSON.stringify({ agentId: 'a', convoId: 'c', createdAt, messageContent }))
    const id = eventId({ type, createdAt, payload })
    return spool.append({ id, type, payload, workspaceId: 'ws', receivedAtMs: createdAt })
  })
  await Promise.all(appended)
  await spool.close()
}

export async function rowsIn<R>(home: string, sql: string): Promise<R[]> {
  const warehouse = await openWarehouse({ home, memoryLimit: '1GB', threads: 1 })
  return warehouse.writer.rows<R>(sql).finally(() => warehouse.close())
}

/** Returns the contents of the messages in the tables. */
export async function messagesIn(home: string): Promise<string[]> {
  const sql = 'SELECT message_content AS text FROM messages_received JOIN webhook_events USING (event_id) ORDER BY ALL'
  return (await rowsIn<{ text: string }>(home, sql)).map(({ text }) => text)
}
