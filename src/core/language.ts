// The language in a text of the vendor: a BCP 47 code (`en`, `pt-BR`), or a name in English or in the language itself.
// Names are those of Unicode's CLDR, which Node brings.

export interface Language {
  /** BCP 47 code: language, script and region, as far as the text names them. */
  code: string
  /** Name in English, e.g. `Portuguese (Brazil)`. */
  name: string
}

const OF_LANGUAGES = { type: 'language', fallback: 'none', languageDisplay: 'standard' } as const
const ENGLISH = new Intl.DisplayNames('en', OF_LANGUAGES)
const REGIONS = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz']
const PAIRS = LETTERS.flatMap(first => LETTERS.map(second => first + second))
/** Languages of many speakers without a code of two letters. Searching all codes of three letters takes a second. */
const THREE_LETTERS = 'ast bho ceb ckb doi fil gsw haw kab kok mai mni nds nso pcm sat scn tzm yue'.split(' ')
/** Codes with a name of their own, such as Brazilian Portuguese. */
const DIALECTS =
  'de-AT de-CH en-AU en-CA en-GB en-US es-419 es-ES es-MX fr-CA fr-CH nl-BE pt-BR pt-PT zh-Hans zh-Hant'.split(' ')
/** Usual names that CLDR lacks. */
const OTHER_NAMES = { castilian: 'es', farsi: 'fa', mandarin: 'zh', tagalog: 'fil' }

/** Longer texts name no language. */
const LONGEST = 60

const folded = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{Diacritic}/gu, '')
    .toLowerCase()
    .trim()

interface Names {
  languages: ReadonlyMap<string, string>
  regions: ReadonlyMap<string, string>
}

let names: Names | undefined

/** Returns codes by folded name. Built on first use, which takes a tenth of a second. */
function namesOf(): Names {
  const codes = [...PAIRS, ...THREE_LETTERS].filter(code => ENGLISH.of(code) !== undefined)
  const languages = new Map<string, string>(Object.entries(OTHER_NAMES))
  // The first code with a name has it: codes of languages come before dialects, and English names before others.
  const add = (locale: (code: string) => string, all: readonly string[]): void => {
    for (const code of all)
      for (const languageDisplay of ['standard', 'dialect'] as const) {
        const name = new Intl.DisplayNames(locale(code), { ...OF_LANGUAGES, languageDisplay }).of(code)
        if (name !== undefined && !languages.has(folded(name)))
          languages.set(folded(name), new Intl.Locale(code).toString())
      }
  }
  add(() => 'en', [...codes, ...DIALECTS])
  add(code => code, Intl.DisplayNames.supportedLocalesOf([...codes, ...DIALECTS]))
  const regions = PAIRS.map(pair => pair.toUpperCase()).filter(region => REGIONS.of(region) !== undefined)
  return { languages, regions: new Map(regions.map(region => [folded(REGIONS.of(region)!), region])) }
}

/** Returns the canonical code of a text that is one: `EN_us` is `en-US`, `eng` is `en`. */
function codeIn(text: string): string | undefined {
  if (!/^[a-z]{2,3}([-_][a-z0-9]{1,8})*$/i.test(text)) return undefined
  try {
    const { language, script, region } = new Intl.Locale(text.replaceAll('_', '-'))
    if (language === 'und' || ENGLISH.of(language) === undefined) return undefined
    return [language, script, region].filter(Boolean).join('-')
  } catch {
    return undefined
  }
}

/** Returns the code of a name, with a region where one follows: `Spanish (Argentina)`, `English - US`. */
function codeOfName(text: string): string | undefined {
  names ??= namesOf()
  const name = folded(text)
  const whole = names.languages.get(name)
  if (whole !== undefined) return whole
  const [, before = '', place = ''] = /^([^(/–-]+)[(/–-]([^)]+)\)?$/.exec(name) ?? []
  const code = names.languages.get(before.trim())
  return code && (codeIn(`${code}-${names.regions.get(place.trim()) ?? place.trim()}`) ?? code)
}

/** Returns the language in a text; null if the text names none that is known. Of a list, the first. */
export function languageIn(text: string): Language | null {
  if (text.length > LONGEST) return null
  const first = text.split(/[,;]/)[0]!.trim()
  const code = codeIn(first.replace(/[.@].*$/, '')) ?? codeOfName(first)
  return code === undefined ? null : { code, name: ENGLISH.of(code) ?? code }
}
