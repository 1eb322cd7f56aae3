// Text-to-speech voices of several providers in the normalised shape (section 2.5). Each provider writes languages in its own way.
import { Draw, PURPOSE } from './random.ts'

export interface Voice {
  voiceId: string
  name: string
  provider: Provider
  previewUrl: string
  /** Providers know different ones. */
  filters: { accent?: string; gender?: string; useCase?: string; language?: string }
}

/** Number of voices of each provider, and how it writes a language: `English`, `en-US` or `en`. */
const CATALOGUES = {
  elevenlabs: { voices: 180, language: 'name' },
  azure: { voices: 260, language: 'tag' },
  cartesia: { voices: 90, language: 'code' },
  openai: { voices: 11, language: 'code' },
  rime: { voices: 60, language: 'tag' },
} as const

export type Provider = keyof typeof CATALOGUES

export const PROVIDERS = Object.keys(CATALOGUES) as [Provider, ...Provider[]]

interface Language {
  code: string
  /** English name. */
  name: string
  /** Regions with their accents. */
  regions: Record<string, string>
}

export const LANGUAGES: readonly Language[] = [
  { code: 'en', name: 'English', regions: { US: 'American', GB: 'British', AU: 'Australian', IN: 'Indian' } },
  { code: 'de', name: 'German', regions: { DE: 'Standard German', AT: 'Austrian', CH: 'Swiss' } },
  { code: 'es', name: 'Spanish', regions: { ES: 'Castilian', MX: 'Mexican' } },
  { code: 'fr', name: 'French', regions: { FR: 'Parisian', CA: 'Québécois' } },
  { code: 'ja', name: 'Japanese', regions: { JP: 'Tōkyō' } },
  { code: 'ar', name: 'Arabic', regions: { SA: 'Gulf', EG: 'Egyptian' } },
]

const NAMES = ['Ada', 'Björn', 'Chloé', 'Dmitri', 'Elif', '花子', 'Ines', "L'Amie"] as const
const USE_CASES = ['conversational', 'narration', 'customer service'] as const
const GENDERS = ['female', 'male', 'neutral'] as const

/** Ids of voices are the same in every world: agents refer to them. */
export function voiceIds(provider: Provider): string[] {
  return Array.from({ length: CATALOGUES[provider].voices }, (_, place) => {
    const draw = new Draw(PROVIDERS.indexOf(provider), place, PURPOSE.voice)
    return `${provider.slice(0, 2)}_${draw.hex(16)}`
  })
}

export const voicesOf = (provider: Provider): Voice[] =>
  voiceIds(provider).map((id, place) => {
    const draw = new Draw(PROVIDERS.indexOf(provider), place, PURPOSE.voiceFacts)
    // The first language is as frequent as all others together.
    const language = draw.chance(0.5) ? LANGUAGES[0]! : draw.pick(LANGUAGES)
    const [region, accent] = draw.pick(Object.entries(language.regions))
    const spelled = { name: language.name, tag: `${language.code}-${region}`, code: language.code }
    return {
      voiceId: id,
      name: `${draw.pick(NAMES)} ${place + 1}`,
      provider,
      previewUrl: `https://cdn.example.com/voices/${id}.mp3`,
      filters: {
        ...(draw.chance(0.8) && { accent }),
        gender: draw.pick(GENDERS),
        ...(draw.chance(0.7) && { useCase: draw.pick(USE_CASES) }),
        language: spelled[CATALOGUES[provider].language],
      },
    }
  })
