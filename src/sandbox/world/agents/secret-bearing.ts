// The parts of an agent's record that contain secrets (section 2.12). Every secret contains the text `CANARY`, so that a search for
// this text finds any leak.
import type { Draw } from '../random.ts'
import { permanentVoices, voiceId } from '../voices.ts'

export const CANARY = 'canary-secret-'

/** The value of a secret, which names the secret's place in the record. */
export function canary(place: string, agent: number): string {
  return `${CANARY}${place}-${agent + 1}`
}

// Section 2.12, `voiceConfig`.

export function voiceConfig(draw: Draw, agent: number) {
  const language = draw.pick(['en-US', 'de-DE', 'multi'])
  return {
    transcriber: transcriber(language, agent),
    speechGen: speechGen(draw, language, agent),
    config: {
      recordAudio: draw.chance(0.7),
      backgroundNoise: draw.pick(['off', 'office']),
      enableWebCalling: draw.chance(0.5),
      enableVoiceUiPresenter: false,
      firstInputChunkUNIXMs: null,
      firstOutputChunkUNIXMs: null,
    },
  }
}

function transcriber(language: string, agent: number) {
  return {
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
}

function speechGen(draw: Draw, language: string, agent: number) {
  const provider = draw.pick(['elevenlabs', 'azure', 'cartesia'] as const)
  return {
    provider,
    highAudioQuality: true,
    modelId: 'turbo-v2.5',
    voiceId: voiceId(provider, Number.parseInt(draw.hex(12), 16) % permanentVoices(provider)),
    apiKey: canary('speechGen-apiKey', agent),
    region: 'westeurope',
    backgroundNoise: null,
    punctuationBreaks: ['.', '!', '?', '。'],
    platformSpecific: { stability: 0.45, similarityBoost: 0.8 },
    backChannelling: draw.chance(0.3),
    language,
    backchannelMessages: ['mhm', 'okay', 'ja'],
    backchannelInterval: 4,
    wordsReplacements: [{ word: 'SQL', replacement: 'sequel' }],
  }
}

// Section 2.12, "Channels and integrations".

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
