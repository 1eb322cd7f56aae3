// Locales of contacts and their texts: both directions of writing, scripts without spaces, surrogate pairs, combining
// marks, and characters that JSON and CSV must escape.
import type { Draw } from '../random.ts'

export interface Locale {
  tag: string
  language: string
  country: string
  timezone: string
  currency: string
  phonePrefix: string
  firstNames: readonly string[]
  lastNames: readonly string[]
  cities: readonly string[]
  sentences: readonly string[]
}

const ENGLISH: Locale = {
  tag: 'en-US',
  language: 'English',
  country: 'US',
  timezone: 'America/New_York',
  currency: 'USD',
  phonePrefix: '+1212555',
  firstNames: ['Olivia', 'Marcus', 'Dana', 'Priya', 'Tom', "D'Arcy", 'Renée', 'Jamal', 'Grace', 'Wei'],
  lastNames: ['Walker', "O'Neill", 'Nguyen', 'Patel', 'Smith-Jones', 'Brontë', 'Garcia', 'Kim', 'Okafor', 'Lee'],
  cities: [
    '742 Maple Street, Springfield, IL 62704',
    '18 Harbor View Rd, Apt 5B, Boston, MA 02110',
    '1 Main St, Austin, TX',
  ],
  sentences: [
    'Thanks for getting back to me so quickly.',
    'I was charged twice for the same order and would like one of the payments refunded.',
    'Could you send the quote again? The PDF that I got ends in the middle of page 2.',
    'My order number is A-10293, and the parcel was marked "delivered" although nobody was at home.',
    'Please do not call before 9 am - I work nights.',
    "It's still not working 😕 I tried C:\\Windows\\Temp and the other folder, too.",
    'Budget is around $12,000/yr, 25 seats, SSO is a must; legal wants to see the DPA first.',
    'I need to reschedule the demo — something came up at home.',
    'Does the warranty also cover refurbished units? I would like to talk to a person.',
    'Great, that solved it! 🎉🙏',
    'Two of the three items arrived; the third, a standing lamp (brass, 160 cm), is missing.',
  ],
}

/** Locales; the first is the language of half of all contacts. */
export const LOCALES: readonly Locale[] = [
  ENGLISH,
  {
    tag: 'de-DE',
    language: 'German',
    country: 'DE',
    timezone: 'Europe/Berlin',
    currency: 'EUR',
    phonePrefix: '+4930555',
    firstNames: ['Jürgen', 'Anneliese', 'Björn', 'Käthe'],
    lastNames: ['Müller', 'Groß', 'von der Heide', 'Schäfer'],
    cities: ['Straße des 17. Juni 135, 10623 Berlin', 'Königsallee 1, 40212 Düsseldorf'],
    sentences: [
      'Können Sie mir bitte die Rechnung für März noch einmal schicken?',
      'Das Paket ist laut Sendungsverfolgung zugestellt, liegt aber weder bei mir noch bei den Nachbarn.',
      'Der Kunde möchte vor der Bestellung wissen, ob die Übergröße lieferbar ist.',
    ],
  },
  {
    tag: 'ar-AE',
    language: 'Arabic',
    country: 'AE',
    timezone: 'Asia/Dubai',
    currency: 'AED',
    phonePrefix: '+9714555',
    firstNames: ['فاطمة', 'محمد', 'ليلى'],
    lastNames: ['الهاشمي', 'بن راشد', 'حداد'],
    cities: ['شارع الشيخ زايد، دبي'],
    sentences: [
      'أين طلبي رقم 48213؟ لم يصل بعد.',
      'يرغب العميل في التحدث إلى موظف خدمة العملاء (اليوم إن أمكن).',
      'شكرًا جزيلًا 🌹',
    ],
  },
  {
    tag: 'ja-JP',
    language: 'Japanese',
    country: 'JP',
    timezone: 'Asia/Tokyo',
    currency: 'JPY',
    phonePrefix: '+813555',
    firstNames: ['さくら', '健太', '陽子'],
    lastNames: ['佐藤', '髙橋', '𠮷田'],
    cities: ['東京都千代田区丸の内1丁目9−1'],
    sentences: [
      '注文した商品がまだ届いていません。確認していただけますか？',
      'お客様は担当者からの折り返し電話を希望しています。ｶﾀｶﾅ表記も可。',
      'ありがとうございます🙇‍♀️',
    ],
  },
]

/** Short sentences used in every locale. */
const ODDITIES: readonly string[] = [
  '👍🏽',
  'ok',
  'He said "call me, maybe" and left.',
  'line one\nline two\r\nline three\t(tabbed)',
  '🇪🇺 → 🇺🇸 ≠ 50 %',
  '<b>not bold</b> & {{var:not_a_variable}}',
  'separators:\u2028and\u2029end',
  "Robert'); DROP TABLE students;--",
  'https://example.com/cart?item=1&coupon=%E2%9C%93#top',
  'zero\u200bwidth, no\u00a0break, e\u0301 and é',
]

/** Returns complete sentences of at least `characters` UTF-16 units, mostly in the locale's language. */
export function prose(draw: Draw, locale: Locale, characters: number): string {
  let text = sentence(draw, locale)
  while (text.length < characters) text += (draw.chance(0.12) ? '\n' : ' ') + sentence(draw, locale)
  return text
}

export function sentence(draw: Draw, locale: Locale): string {
  const unit = draw.unit()
  if (unit < 0.05) return draw.pick(ODDITIES)
  return draw.pick(unit < 0.3 ? LOCALES[0]!.sentences : locale.sentences)
}

/** Returns a time in one of the formats of the API's string dates. */
export function dateText(draw: Draw, ms: number): string {
  const unit = draw.unit()
  if (unit < 0.65) return new Date(ms).toISOString()
  if (unit < 0.8) return new Date(ms).toISOString().slice(0, 10)
  return unit < 0.93 ? String(ms) : String(Math.floor(ms / 1_000))
}
