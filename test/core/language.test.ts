import { expect, it } from 'vitest'
import { languageIn } from '../../src/core/language.ts'

const LANGUAGES: [code: string, name: string, texts: string[]][] = [
  ['en', 'English', ['en', 'EN', 'eng', 'English', ' english ', 'English (native)', 'English, German']],
  ['en-US', 'English (United States)', ['en-US', 'en_us', 'en_US.UTF-8', 'American English', 'English - US']],
  ['de', 'German', ['de', 'ger', 'German', 'Deutsch']],
  [
    'pt-BR',
    'Portuguese (Brazil)',
    ['pt-BR', 'pt_br', 'Brazilian Portuguese', 'Português (Brasil)', 'portugues (brasil)'],
  ],
  ['zh-Hans', 'Chinese (Simplified)', ['zh-Hans', 'Simplified Chinese', 'Chinese (Simplified)', '简体中文']],
  ['es-AR', 'Spanish (Argentina)', ['es-AR', 'Spanish (Argentina)']],
  ['ar', 'Arabic', ['ar', 'العربية']],
  ['ja', 'Japanese', ['ja', 'Japanese', '日本語']],
  ['fil', 'Filipino', ['fil', 'tl', 'Tagalog']],
]

it.each(LANGUAGES)('the language of a contact is %s, however it is written', (code, name, texts) => {
  for (const text of texts) expect(languageIn(text), text).toEqual({ code, name })
})

it('a text that names no language has none', () => {
  const texts = ['', 'multi', 'und', 'unknown', 'n/a', 'xx', 'constructor', 'e'.repeat(100), 'I speak English']
  for (const text of texts) expect(languageIn(text), text).toBeNull()
})
