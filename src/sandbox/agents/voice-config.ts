// Section 2.12, `voiceConfig`.
import type { Draw } from '../random.ts'
import { canary } from './canary.ts'

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
  return {
    provider: draw.pick(['elevenlabs', 'azure', 'cartesia']),
    highAudioQuality: true,
    modelId: 'turbo-v2.5',
    voiceId: `voice_${draw.hex(12)}`,
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
