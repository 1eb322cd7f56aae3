// Settings of webhooks from options or the control endpoints.

import { z } from 'zod'
import { issueTexts } from '../rates.ts'

export const DEFAULT_WEBHOOK_SECRET = 'sandbox-webhook-secret'

/** Changes of settings. Omitted settings stay unchanged. */
export interface WebhookSettings {
  /** Address of events. Null stops them: events created until the next address are never sent. */
  url?: string | null | undefined
  /** Sent as `workspaceSecret` in every event. */
  secret?: string | undefined
  /** Sends a `webhook_test` now. */
  test?: true | undefined
}

const Settings = z.strictObject({
  url: z
    .url({ protocol: /^https?$/, error: 'give an address such as http://127.0.0.1:8080/' })
    .nullable()
    .optional(),
  secret: z.string().min(1).optional(),
  test: z.literal(true).optional(),
})

/** Returns the validation issues of settings; empty if they are valid. */
export function webhookIssues(given: unknown): string[] {
  const read = Settings.safeParse(given)
  return read.success ? [] : issueTexts(read.error)
}
