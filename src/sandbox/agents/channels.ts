// Section 2.12, "Channels and integrations".
import type { Draw } from '../random.ts'
import { canary } from './canary.ts'

export function channels(draw: Draw, agent: number) {
  return {
    whatsappToken: canary('whatsappToken', agent),
    whatsappNumberId: `1098${draw.int(10_000_000, 99_999_999)}`,
    whatsappCustomBridge: null,
    instagramOptions: {
      enabled: draw.chance(0.5),
      pageId: draw.hex(12),
      accessToken: canary('instagram-accessToken', agent),
    },
    emailConfig: {
      enabled: true,
      from: 'desk@example.com',
      smtp: { host: 'smtp.example.com', password: canary('smtp-password', agent) },
    },
    inboundEngagement: { mode: 'phrase', phrases: ['@bot', 'hey nova'] },
    webhookUrl: 'https://hooks.example.com/convohouse',
    SECRET_API_KEY: canary('SECRET_API_KEY', agent),
    vapiConfig: {
      assistantId: draw.hex(24),
      publicKey: `pk_${draw.hex(16)}`,
      privateKey: canary('vapi-privateKey', agent),
      private_key: canary('vapi-private_key', agent),
    },
    retellConfig: {
      agentId: draw.hex(16),
      apiKey: canary('retell-apiKey', agent),
      key: canary('retell-key', agent),
      signingKey: canary('retell-signingKey', agent),
    },
    integrations: {
      slack: { url: `https://hooks.slack.com/services/T0/B0/${canary('slack-path', agent)}` },
      mail: { user: 'desk', pass: canary('mail-pass', agent), pwd: canary('mail-pwd', agent) },
      storage: { credentials: { id: 'desk', accessKey: canary('storage-accessKey', agent) } },
      calendar: `https://desk:${canary('calendar-userinfo', agent)}@calendar.example.com/feed?view=week&key=${canary('calendar-parameter', agent)}`,
      crm: `{"url":"https://crm.example.com","accessToken":"${canary('crm-text', agent)}"}`,
      billing: `sk-${canary('billing-value', agent)}`,
    },
  }
}
