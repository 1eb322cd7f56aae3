// Text-to-speech voices of several providers in the normalised shape (section 2.5). Each provider writes languages in its own way.
import { DAY } from '../../core/time.ts'
import { Draw, PURPOSE } from './random.ts'

export interface Voice {
  voiceId: string
  name: string
  provider: Provider
  previewUrl: string
  /** Providers know different ones. */
  filters: { accent?: string; gender?: string; useCase?: string; language?: string }
}

export const PROVIDERS = ['elevenlabs', 'azure', 'cartesia', 'openai', 'rime'] as const

export type Provider = (typeof PROVIDERS)[number]

interface Catalogue {
  voices: number
  /** How it writes a language: `English`, `en-US` or `en`. */
  language: 'name' | 'tag' | 'code'
}

const CATALOGUES: Record<Provider, Catalogue> = {
  elevenlabs: { voices: 180, language: 'name' },
  azure: { voices: 260, language: 'tag' },
  cartesia: { voices: 90, language: 'code' },
  openai: { voices: 11, language: 'code' },
  rime: { voices: 60, language: 'tag' },
}

interface Language {
  code: string
  /** English name. */
  name: string
  /** Regions with their accents. */
  regions: Record<string, string>
}

export const LANGUAGES: readonly Language[] = [
  {
    code: 'en',
    name: 'English',
    regions: { US: 'American', GB: 'British', AU: 'Australian', IN: 'Indian', IE: 'Irish' },
  },
  { code: 'de', name: 'German', regions: { DE: 'Standard German', AT: 'Austrian', CH: 'Swiss' } },
  { code: 'es', name: 'Spanish', regions: { ES: 'Castilian', MX: 'Mexican', AR: 'Rioplatense' } },
  { code: 'fr', name: 'French', regions: { FR: 'Parisian', CA: 'Québécois' } },
  { code: 'pt', name: 'Portuguese', regions: { PT: 'European', BR: 'Brazilian' } },
  { code: 'it', name: 'Italian', regions: { IT: 'Roman' } },
  { code: 'ja', name: 'Japanese', regions: { JP: 'Tōkyō' } },
  { code: 'zh', name: 'Chinese', regions: { CN: 'Mandarin', TW: 'Taiwanese' } },
  { code: 'ar', name: 'Arabic', regions: { SA: 'Gulf', EG: 'Egyptian' } },
  { code: 'tr', name: 'Turkish', regions: { TR: 'İstanbul' } },
]

const NAMES = [
  'Ada',
  'Björn',
  'Chloé',
  'Dmitri',
  'Elif',
  'Fatima',
  'Gael',
  '花子',
  'Ines',
  'Jörg',
  'Kim',
  "L'Amie",
] as const
const USE_CASES = ['conversational', 'narration', 'customer service', 'characters'] as const
const GENDERS = ['female', 'male', 'neutral'] as const

/** Ids of voices are the same in every world: agents refer to them. `place` counts from 0. */
export function voiceId(provider: Provider, place: number): string {
  const draw = new Draw(PROVIDERS.indexOf(provider), place, PURPOSE.voice)
  return `${provider.slice(0, 2)}_${draw.hex(16)}`
}

/** Number of voices of a provider that are always there. */
export const permanentVoices = (provider: Provider): number => Math.floor(CATALOGUES[provider].voices * 0.8)

/** The voices of a provider at that time. Most are permanent; others are added and withdrawn. */
export function voicesOf(provider: Provider, nowMs: number): Voice[] {
  const { voices } = CATALOGUES[provider]
  const permanent = permanentVoices(provider)
  return Array.from({ length: voices }, (_, place) => place)
    .filter(place => place < permanent || isOffered(provider, place, nowMs))
    .map(place => voice(provider, place))
}

/** A voice that is not permanent is offered for some months of each two years. */
function isOffered(provider: Provider, place: number, nowMs: number): boolean {
  const draw = new Draw(PROVIDERS.indexOf(provider), place, PURPOSE.voiceOffer)
  const cycleMs = 730 * DAY
  const sinceMs = (nowMs + draw.int(0, cycleMs)) % cycleMs
  return sinceMs < draw.int(60, 400) * DAY
}

function voice(provider: Provider, place: number): Voice {
  const draw = new Draw(PROVIDERS.indexOf(provider), place, PURPOSE.voiceFacts)
  const id = voiceId(provider, place)
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
}
