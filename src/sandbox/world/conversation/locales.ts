// Locales of contacts and their texts: left-to-right and right-to-left scripts, with and without spaces, surrogate pairs,
// combining marks, and characters that JSON and CSV must escape.
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

export const ENGLISH: Locale = {
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
    'The visitor asked about opening hours, parking and whether the showroom takes walk-ins on Saturdays.',
    'Could you send the quote again? The PDF that I got ends in the middle of page 2.',
    'The agent offered a call on Thursday at 14:30; the contact prefers e-mail.',
    'My order number is A-10293, and the parcel was marked "delivered" although nobody was at home.',
    'The contact compares us with two other vendors and decides by the end of the quarter.',
    'Please do not call before 9 am - I work nights.',
    "It's still not working 😕 I tried C:\\Windows\\Temp and the other folder, too.",
    'Budget is around $12,000/yr, 25 seats, SSO is a must; legal wants to see the DPA first.',
    'After the assistant explained the return policy, the customer chose an exchange for the larger size.',
    'I need to reschedule the demo — something came up at home.',
    'The knowledge base had no answer for the warranty of refurbished units, so a person was asked for.',
    'Great, that solved it! 🎉🙏',
    'Two of the three items arrived; the third, a standing lamp (brass, 160 cm), is missing.',
    'The customer wants the invoice addressed to the parent company and sent to accounting as well.',
  ],
}

export const OTHER_LOCALES: readonly Locale[] = [
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
    tag: 'fr-FR',
    language: 'French',
    country: 'FR',
    timezone: 'Europe/Paris',
    currency: 'EUR',
    phonePrefix: '+331555',
    firstNames: ['Zoé', 'François', 'Maëlle', 'Loïc'],
    lastNames: ['Lefèvre', "d'Aubigné", 'Çelik', 'Noël'],
    cities: ['12 rue de la Paix, 75002 Paris', '3 cours Lafayette, 69003 Lyon'],
    sentences: [
      'Bonjour, ma commande n’est toujours pas arrivée ; pouvez-vous vérifier ?',
      'Le client souhaite être rappelé après 18 h, « de préférence jeudi ».',
      'Où puis-je télécharger le contrat signé ?',
    ],
  },
  {
    tag: 'es-MX',
    language: 'Spanish',
    country: 'MX',
    timezone: 'America/Mexico_City',
    currency: 'MXN',
    phonePrefix: '+5255555',
    firstNames: ['José', 'Itzel', 'Ángel', 'Sofía'],
    lastNames: ['Núñez', 'Hernández', 'Peña', 'Ibáñez'],
    cities: ['Av. Insurgentes Sur 1602, Ciudad de México', 'Calle 60 n.º 480, Mérida, Yucatán'],
    sentences: [
      '¿Tienen envíos a Mérida? ¡Gracias! 😊',
      'El cliente pidió hablar con una persona después de la segunda respuesta del asistente.',
      'Quiero cambiar la talla del pedido que hice el año pasado.',
    ],
  },
  {
    tag: 'pt-BR',
    language: 'Portuguese',
    country: 'BR',
    timezone: 'America/Sao_Paulo',
    currency: 'BRL',
    phonePrefix: '+5511555',
    firstNames: ['João', 'Conceição', 'Luís'],
    lastNames: ['Gonçalves', 'Araújo', 'Brandão'],
    cities: ['Av. Paulista, 1578 - São Paulo, SP'],
    sentences: [
      'Não consigo acessar a minha conta desde ontem.',
      'A cliente quer saber se o parcelamento em 12x vale também para promoções.',
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
    tag: 'he-IL',
    language: 'Hebrew',
    country: 'IL',
    timezone: 'Asia/Jerusalem',
    currency: 'ILS',
    phonePrefix: '+9723555',
    firstNames: ['נועה', 'יוסף', 'תמר'],
    lastNames: ['כהן', 'לוי', 'בן־דוד'],
    cities: ['רחוב דיזנגוף 50, תל אביב'],
    sentences: ['שלום, האם אפשר לשנות את כתובת המשלוח?', 'הלקוחה ביקשה הצעת מחיר ל־20 משתמשים.'],
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
  {
    tag: 'zh-CN',
    language: 'Chinese',
    country: 'CN',
    timezone: 'Asia/Shanghai',
    currency: 'CNY',
    phonePrefix: '+8621555',
    firstNames: ['伟', '秀英', '欣怡'],
    lastNames: ['王', '欧阳', '李'],
    cities: ['上海市浦东新区世纪大道100号'],
    sentences: [
      '请问什么时候发货？我已经等了三天了。',
      '客户希望先试用两周，再决定是否购买企业版。',
      '发票抬头请写公司全称，谢谢！',
    ],
  },
  {
    tag: 'hi-IN',
    language: 'Hindi',
    country: 'IN',
    timezone: 'Asia/Kolkata',
    currency: 'INR',
    phonePrefix: '+9122555',
    firstNames: ['आशा', 'राजेश', 'कृष्णा'],
    lastNames: ['शर्मा', 'श्रीवास्तव', 'सिंह'],
    cities: ['मरीन ड्राइव, मुंबई'],
    sentences: ['क्या मुझे आज डिलीवरी मिल सकती है?', 'ग्राहक ने किसी व्यक्ति से बात करने का अनुरोध किया।'],
  },
  {
    tag: 'vi-VN',
    language: 'Vietnamese',
    country: 'VN',
    timezone: 'Asia/Ho_Chi_Minh',
    currency: 'VND',
    phonePrefix: '+8428555',
    // Decomposed on purpose: letters with combining marks.
    firstNames: ['Phu\u031bo\u031bng', 'Hie\u0302\u0300n', 'An'],
    lastNames: ['Nguye\u0302\u0303n', 'Tra\u0302\u0300n'],
    cities: ['135 Nam Ky\u0300 Kho\u031b\u0309i Nghi\u0303a, TP.HCM'],
    sentences: [
      'To\u0302i muo\u0302\u0301n \u0111o\u0302\u0309i lich giao ha\u0300ng sang nga\u0300y mai.',
      'Cảm ơn bạn nhiều 👨‍👩‍👧‍👦',
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

/** Complete sentences of at least `characters` UTF-16 units, mostly in the locale's language. */
export function prose(draw: Draw, locale: Locale, characters: number): string {
  let text = sentence(draw, locale)
  while (text.length < characters) text += (draw.chance(0.12) ? '\n' : ' ') + sentence(draw, locale)
  return text
}

export function sentence(draw: Draw, locale: Locale): string {
  const unit = draw.unit()
  if (unit < 0.05) return draw.pick(ODDITIES)
  return draw.pick(unit < 0.3 ? ENGLISH.sentences : locale.sentences)
}

/** A time in one of the formats of the API's string dates. */
export function dateText(draw: Draw, ms: number): string {
  const unit = draw.unit()
  if (unit < 0.65) return new Date(ms).toISOString()
  if (unit < 0.8) return new Date(ms).toISOString().slice(0, 10)
  return unit < 0.93 ? String(ms) : String(Math.floor(ms / 1_000))
}
