// Text-to-speech voices of several providers in the normalised shape (section 2.5).
import { Draw, PURPOSE } from './random.ts'

/** Number of voices of each provider. */
const VOICES = { elevenlabs: 180, azure: 260, cartesia: 90, openai: 11, rime: 60 } as const

export type Provider = keyof typeof VOICES

export const PROVIDERS = Object.keys(VOICES) as [Provider, ...Provider[]]

/** Languages as BCP-47 tags, with their accents. English has half of the voices. */
const ENGLISH = { 'en-US': 'American', 'en-GB': 'British', 'en-AU': 'Australian', 'en-IN': 'Indian' } as const
const OTHERS = {
  'de-DE': 'Standard German',
  'de-AT': 'Austrian',
  'es-MX': 'Mexican',
  'fr-CA': 'Québécois',
  'ja-JP': 'Tōkyō',
}

const NAMES = ['Ada', 'Björn', 'Chloé', 'Dmitri', 'Elif', '花子', 'Ines', "L'Amie"] as const
const USE_CASES = ['conversational', 'narration', 'customer service'] as const
const GENDERS = ['female', 'male', 'neutral'] as const

/** Returns the ids of voices, which are the same in every world because agents refer to them. */
export function voiceIds(provider: Provider): string[] {
  return Array.from({ length: VOICES[provider] }, (_, place) => {
    const draw = new Draw(PROVIDERS.indexOf(provider), place, PURPOSE.voice)
    return `${provider.slice(0, 2)}_${draw.hex(16)}`
  })
}

export type Voice = ReturnType<typeof voicesOf>[number]

/** Returns the voices; each provider has different `filters`. */
export const voicesOf = (provider: Provider) =>
  voiceIds(provider).map((id, place) => {
    const draw = new Draw(PROVIDERS.indexOf(provider), place, PURPOSE.voiceFacts)
    const [language, accent] = draw.pick(Object.entries(draw.chance(0.5) ? ENGLISH : OTHERS))
    return {
      voiceId: id,
      name: `${draw.pick(NAMES)} ${place + 1}`,
      provider,
      previewUrl: `https://cdn.example.com/voices/${id}.mp3`,
      filters: {
        ...(draw.chance(0.8) && { accent }),
        gender: draw.pick(GENDERS),
        ...(draw.chance(0.7) && { useCase: draw.pick(USE_CASES) }),
        language,
      },
    }
  })
