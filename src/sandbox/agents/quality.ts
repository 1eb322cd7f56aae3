// Section 2.12, "Quality and analytics" and "Marketplace".
import type { Draw } from '../random.ts'

export function quality(draw: Draw, createdMs: number) {
  return {
    autoTest: { enabled: false, lastRunAt: null },
    funnelConfig: { enabled: true, steps: ['visited', 'asked_price', 'left_contact', 'booked_demo'] },
    topicsConfig: { topics: ['billing', 'délai', '配送'] },
    webControlConfig: { enabled: false },
    leadCollectionRules: [{ field: 'email', required: true }],
    identityResolutionSettings: { mergeBy: ['email', 'phone'] },
    limits: {
      maxInteractionsPerUserId: draw.int(50, 500),
      enableTextIpRateLimit: true,
      maxTextInteractionsPerIp: 100,
      textIpRateLimitWindowHours: 24,
      maxAnnualCreditsUsage: null,
      maxMonthlyCreditsUsage: draw.int(1_000, 50_000),
      maxMessages: null,
      maxMessagesRetentionDays: 365,
      inactiveChatRetentionDays: 180,
      analyticsRetentionDays: 730,
    },
    convoTags: ['vip', 'refund', 'follow-up'],
    marketplace: marketplace(draw, createdMs),
  }
}

function marketplace(draw: Draw, createdMs: number) {
  return {
    enabled: draw.chance(0.2),
    priceUSD: draw.decimal(0, 199, 2),
    category: 'customer-service',
    creatorDisplayName: 'Convo Studio',
    shortDescription: 'A friendly front desk.',
    documentation: '## Setup\n\n1. Connect a calendar.\n2. Add opening hours.',
    toolsDocumentation: [{ tool: 'Order lookup', text: 'Needs an order API.' }],
    tags: ['retail'],
    screenshots: ['https://cdn.example.com/market/1.png'],
    demoUrl: 'https://demo.example.com',
    videoUrl: null,
    version: '1.4.0',
    changelog: ['1.4.0: calendar'],
    supportEmail: 'help@example.com',
    listedAt: createdMs,
    updatedAt: createdMs,
    allowCanvasPreview: true,
    allowTryAgent: true,
    likeCount: draw.int(0, 900),
    downloadCount: draw.int(0, 9_000),
  }
}
