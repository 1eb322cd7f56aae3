// The webhook part of the demo: conversations continue, the sandbox posts events, and SQL shows them within seconds.
import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from '../../app.ts'
import type { Config } from '../../config.ts'
import { HOUR } from '../../core/time.ts'
import { counted } from '../../core/words.ts'
import { startIngest } from '../../run/ingest.ts'
import type { Sandbox } from '../../sandbox/server.ts'
import { spoolWaiting } from '../../spool/waiting.ts'
import { openReceiver } from '../receive.ts'
import { print } from '../terminal/print.ts'
import type { Conversation } from './questions.ts'

/** Secret of the sandbox and of the receiver, which both run in this process. */
export const WEBHOOK_SECRET = 'demo-webhook-secret'

/** The sandbox's clock advances in steps of this length until a stored conversation has changed. */
const STEP_MS = HOUR
const CHECK_EVERY_MS = 200

/** Finds a conversation whose state, assignee or cost was changed by an event after its export. */
const CHANGED = `SELECT o.conversation_id AS id
  FROM conversation_observations o JOIN conversation_observations e USING (workspace_id, agent_id, conversation_id)
  WHERE o.source = 'webhook' AND e.source = 'export' AND (o.state, o.chat_assigned_to, o.token_usage_cumulative_total_tokens)
    IS DISTINCT FROM (e.state, e.chat_assigned_to, e.token_usage_cumulative_total_tokens)
  ORDER BY o.observed_at DESC LIMIT 1`

async function untilApplied(config: Config): Promise<void> {
  const { home, workspaces } = config
  while ((await spoolWaiting(home, workspaces[0]!.id)).events > 0) await sleep(CHECK_EVERY_MS)
}

async function untilChanged(options: { app: App; config: Config; sandbox: Sandbox }): Promise<Conversation> {
  const { app, config, sandbox } = options
  for (;;) {
    sandbox.clock.advance(STEP_MS)
    await sandbox.webhooks.settled()
    await untilApplied(config)
    const [found] = await app.warehouse.writer.rows<Conversation>(CHANGED)
    if (found) return found
  }
}

/** Advances the sandbox until a stored conversation has changed and its events are in the tables; returns that conversation. */
export async function showEvents(options: { app: App; config: Config; sandbox: Sandbox }): Promise<Conversation> {
  const { app, config, sandbox } = options
  const receiver = await openReceiver(config)
  sandbox.webhooks.set({ url: `${receiver.url}/webhooks`, secret: WEBHOOK_SECRET })
  const ingesting = startIngest({
    config,
    app,
    failing: (_, failure) => {
      if (failure) throw new Error(failure.what)
    },
  })
  try {
    const conversation = await untilChanged(options)
    const [events] = await app.warehouse.writer.rows<{ count: string }>(
      'SELECT count(*)::VARCHAR AS count FROM webhook_events',
    )
    print(
      `The sandbox posted webhooks: ${counted(Number(events!.count), 'event')} applied, without any request to the API.`,
      '',
    )
    return conversation
  } finally {
    sandbox.webhooks.set({ url: null })
    await receiver.closeWithin(0)
    await ingesting.end()
  }
}
