// The groups of an agent's record that contain secrets (section 2.12). Every secret contains the text `CANARY`, so that
// a search for this text finds any leak.
import type { Draw } from '../random.ts'
import { voiceIds } from '../voices.ts'

export const CANARY = 'canary-secret-'

/** Returns the value of a secret, which names the secret's place in the record. */
export const canary = (place: string, agent: number): string => `${CANARY}${place}-${agent + 1}`

const PROMPT = `# Role
You answer visitors of the shop. Be brief, be kind, never invent a price.

# Rules
1. Ask for the order number before you look anything up.
2. When the visitor asks for a person, hand over at once.
3. Quote the "Terms" literally; they hold {{var:terms_version}}.`

/** "Language model and knowledge base settings". */
export const modelSettings = (draw: Draw, agent: number) => ({
  vg_systemPrompt: PROMPT,
  vg_temperature: draw.decimal(0, 1, 2),
  vg_defaultModel: draw.pick(['gpt-4o', 'claude-sonnet-4']),
  vg_maxTokens: 1_024,
  vg_kbTopChunks: draw.int(3, 8),
  vg_enableUIEngine: draw.chance(0.6),
  vg_UIEngineConfig: {
    carousel: { enabled: true, maxItems: 6 },
    maps: { enabled: true, apiKey: canary('vg-maps-apiKey', agent) },
  },
  vgOptions: {
    fallbackModel: 'gpt-4.1-mini',
    reasoningEffort: null,
    provider: { name: 'own', url: 'https://llm.example.com/v1', apiKey: canary('vgOptions-apiKey', agent) },
  },
  kbTags: ['pricing', 'returns', 'Garantie'],
  kbTagsDataMap: { pricing: { documents: draw.int(1, 40), color: '#00aa88' }, returns: { documents: 3, color: null } },
  enableFallback: draw.chance(0.5),
  fallbackSettings: {
    message: 'One moment, please.',
    notify: { url: 'https://hooks.example.com/fallback', headers: { 'X-Api-Key': canary('fallback-header', agent) } },
  },
})

export function voiceConfig(draw: Draw, agent: number) {
  const language = draw.pick(['en-US', 'de-DE', 'multi'])
  const provider = draw.pick(['elevenlabs', 'azure', 'cartesia'] as const)
  const transcriber = {
    provider: 'deepgram',
    speechConfig: { format: 'pcm_s16le', sampleRate: 16_000, language },
    modelId: 'nova-3',
    patienceFactor: 0.6,
    language,
    apiKey: canary('transcriber-apiKey', agent),
    platformSpecific: { smartFormat: true, keyterms: ['Nova', 'Größe'] },
    utteranceThreshold: 800,
    inputVoiceEnhancer: null,
  }
  const speechGen = {
    provider,
    highAudioQuality: true,
    modelId: 'turbo-v2.5',
    voiceId: draw.pick(voiceIds(provider)),
    apiKey: canary('speechGen-apiKey', agent),
    region: 'westeurope',
    backgroundNoise: null,
    backChannelling: draw.chance(0.3),
    language,
    backchannelInterval: 4,
    wordsReplacements: [{ word: 'SQL', replacement: 'sequel' }],
  }
  const config = {
    recordAudio: draw.chance(0.7),
    backgroundNoise: draw.pick(['off', 'office']),
    enableWebCalling: draw.chance(0.5),
    enableVoiceUiPresenter: false,
  }
  return { voiceConfig: { transcriber, speechGen, config } }
}

/** "Channels and integrations". */
export const channels = (draw: Draw, agent: number) => ({
  whatsappToken: canary('whatsappToken', agent),
  whatsappNumberId: `1098${draw.int(10_000_000, 99_999_999)}`,
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
    publicKey: `pk_${draw.hex(16)}`,
    privateKey: canary('vapi-privateKey', agent),
    private_key: canary('vapi-private_key', agent),
  },
  retellConfig: {
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
})
