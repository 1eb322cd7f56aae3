// Settings of webhooks from options or the control endpoints.

import { z } from 'zod'
import { issueTexts } from '../rates.ts'

export const DEFAULT_WEBHOOK_SECRET = 'sandbox-webhook-secret'

const Settings = z.strictObject({
  /** Address of events. Null stops them: events created until the next address are never sent. */
  url: z
    .url({ protocol: /^https?$/, error: 'give an address such as http://127.0.0.1:8080/' })
    .nullable()
    .optional(),
  /** Sent as `workspaceSecret` in every event. */
  secret: z.string().min(1).optional(),
  /** Sends a `webhook_test` now. */
  test: z.literal(true).optional(),
})

/** Changes of settings. Omitted settings stay unchanged. */
export type WebhookSettings = z.infer<typeof Settings>

/** Returns the validation issues of settings; empty if they are valid. */
export function webhookIssues(given: unknown): string[] {
  const read = Settings.safeParse(given)
  return read.success ? [] : issueTexts(read.error)
}
