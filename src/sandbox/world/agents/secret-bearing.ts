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

// Section 2.12, "Nodes".

export function nodes(draw: Draw, agent: number) {
  return {
    enableNodes: true,
    nodes: [
      node(
        draw,
        { id: 'greeting', type: 'conversation', isGlobal: false, children: ['qualification', 'fallback'] },
        agent,
      ),
      node(draw, { id: 'qualification', type: 'conversation', isGlobal: false, children: ['booking'] }, agent),
      node(draw, { id: 'booking', type: 'tool', isGlobal: false, children: [] }, agent),
      node(draw, { id: 'fallback', type: 'conversation', isGlobal: true, children: [] }, agent),
    ],
    nodesSettings: { startNodeId: 'greeting', maxTransitions: 50 },
    advanced: {
      serverUrl: 'https://hooks.example.com/agent',
      serverUrlSecret: canary('advanced-serverUrlSecret', agent),
    },
    enableFallback: draw.chance(0.5),
    fallbackSettings: { message: 'One moment, please.', retries: 2 },
  }
}

interface NodePlan {
  id: string
  type: string
  isGlobal: boolean
  children: string[]
}

function node(draw: Draw, { id, type, isGlobal, children }: NodePlan, agent: number) {
  return {
    id,
    name: id,
    description: `Node ${id}`,
    instructions: 'Greet, then find out what the visitor needs. Use {{tool:tool_lookup}} for orders.',
    llmConfig: { modelId: 'gpt-4o', temperature: draw.decimal(0, 1, 1), maxTokens: 800 },
    language: null,
    mcpServers: [
      {
        name: 'crm',
        url: 'https://mcp.example.com/sse',
        headers: {
          Authorization: `Bearer ${canary(`mcp-${id}`, agent)}`,
          Cookie: `session=${canary(`mcp-cookie-${id}`, agent)}`,
          'X-Auth': canary(`mcp-x-auth-${id}`, agent),
        },
      },
      {
        // A server may have any name.
        name: 'notes',
        command: 'notes-mcp',
        args: ['--quiet', '--api-key', canary(`mcp-option-${id}`, agent)],
        env: { OPENAI_KEY: canary(`mcp-env-${id}`, agent), REGION: 'eu' },
      },
    ],
    voiceInstructions: '',
    isGlobal,
    toolsIds: ['tool_lookup'],
    toolsSettings: { tool_lookup: { timeoutMs: 5_000 } },
    childrenNodes: children.map(nodeId => ({ nodeId, condition: `the visitor is ready for ${nodeId}` })),
    routerLlmConfig: { modelId: 'gpt-4.1-mini' },
    toolUseBias: 0,
    autoRerouter: true,
    type,
    kb: { enabled: true, tags: ['pricing'] },
    conditionData: null,
    preStart: null,
    startConfig: { firstMessage: 'Hello!' },
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
