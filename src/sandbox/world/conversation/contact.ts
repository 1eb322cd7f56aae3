// Section 2.10, "Contact and lead", "Identifiers and environment", and `crmActivities`.
import { DAY, HOUR } from '../../../core/time.ts'
import { Draw, PURPOSE } from '../random.ts'
import { STAFF } from '../staff.ts'
import { dateText, prose, sentence } from './locales.ts'
import { type Channel, drawFor, type Scene } from './scene.ts'

const COMPANIES = [
  'Northwind Traders',
  'Müller & Söhne GmbH',
  'Acme, Inc.',
  '株式会社さくら',
  'Café "Le Départ"',
  'Initech',
] as const
const INDUSTRIES = ['Dental clinics', 'Freight forwarding', 'SaaS / HR', 'Real estate', 'E-commerce: fashion'] as const
const SOURCES = ['website', 'google_ads', 'referral', 'instagram_dm', 'qr-code', 'import'] as const
const STAGES = ['new', 'new', 'new', 'contacted', 'qualified', 'proposal', 'won', 'lost'] as const
const LOST = [
  'Too expensive',
  'Chose a competitor',
  'No answer after 3 attempts',
  'Project postponed to next year',
] as const

export function contact(scene: Scene) {
  const draw = new Draw(scene.seed, scene.contact, PURPOSE.contact)
  const { firstName, lastName, locale, asOfMs, createdMs } = scene
  const handle = `user${draw.int(100, 999_999)}`
  const archiver = draw.pick(['system', 'user_81cc'])
  const company = draw.pick(COMPANIES)
  const dueMs = createdMs + draw.int(3, 60) * DAY
  return {
    userEmail: draw.made(0.7, () => `${handle}@example.${draw.pick(['com', 'org', 'net'])}`),
    userName: draw.made(0.85, () => `${firstName} ${lastName}`),
    userPhone: draw.made(0.6, () => `${locale.phonePrefix}${draw.int(1_000, 9_999)}`),
    userAddress: draw.made(0.3, () => draw.pick(locale.cities)),
    userCompany: draw.some(0.4, company),
    userWebsite: draw.made(0.3, () => `https://www.example.com/${handle}/?ref=chat&lang=${locale.tag}`),
    notes: draw.made(0.45, () => prose(draw, locale, draw.chance(0.02) ? 6_000 : draw.logarithmic(80, 900))),
    note: draw.made(0.25, () => prose(draw, locale, 40)),
    userProfilePic: draw.made(0.4, () => `https://cdn.example.com/profiles/${draw.hex(24)}.jpg?size=256`),
    userImage: draw.made(0.2, () => `https://cdn.example.com/images/${draw.hex(16)}.png`),
    socialHandle: draw.made(0.3, () => `@${handle}`),
    linkedIn: draw.made(0.2, () => `https://www.linkedin.com/in/${handle}`),
    instagram: draw.made(0.2, () => `https://instagram.com/${handle}`),
    subIndustry: draw.made(0.3, () => draw.pick(INDUSTRIES)),
    source: draw.made(0.7, () => draw.pick(SOURCES)),
    language: draw.some(0.85, locale.language),
    lang: draw.some(0.6, locale.tag.slice(0, 2)),
    currency: draw.some(0.5, locale.currency),
    expectedCloseDate: draw.made(0.25, () => dateText(draw, dueMs)),
    demoDate: draw.made(0.15, () => new Date(dueMs).toISOString().slice(0, 10)),
    demoTime: draw.made(0.15, () => `${draw.int(9, 17)}:${draw.pick(['00', '15', '30', '45'])}`),
    demoLink: draw.made(0.15, () => `https://meet.example.com/${draw.hex(10)}`),
    lostReason: draw.made(0.1, () => draw.pick(LOST)),
    lastActivityDate: draw.made(0.6, () => dateText(draw, scene.lastActivityMs)),
    stage: draw.made(0.95, () => draw.pick(STAGES)),
    value: draw.some(0.4, draw.chance(0.2) ? 0 : draw.decimal(10, 50_000, 2)),
    isFollowingBusiness: draw.some(0.35, draw.chance(0.4)),
    socialVerified: draw.some(0.35, draw.chance(0.1)),
    archivedBy: scene.archivedMs === undefined ? null : archiver,
    archivedAt: scene.archivedMs,
    lastModified: asOfMs,
  }
}

// Section 2.10, "Identifiers and environment".

const SYSTEMS = ['Windows 11', 'macOS 15.1', 'Android 15', 'iOS 18.1', 'Linux x86_64'] as const
const BROWSERS = ['Chrome 131', 'Safari 18', 'Firefox 133', 'Edge 131', 'Instagram in-app'] as const
const TAGS = ['vip', 'refund', 'follow-up', 'Größe XL', '返品', 'hot lead 🔥', 'spam?', 'B2B'] as const
const WHATSAPP_NUMBERS = ['15550100', '15550101', '15550102'] as const
const PHONE_CHANNELS: readonly Channel[] = ['voice', 'telephony', 'whatsapp']

export function environment(scene: Scene) {
  const draw = drawFor(scene, PURPOSE.environment)
  const { channel, locale, id, seed } = scene
  const ids = new Draw(seed, scene.contact, PURPOSE.contactIds)
  const isWhatsapp = channel === 'whatsapp'
  const phone = `${locale.phonePrefix}${ids.int(1_000, 9_999)}`
  const visitor = `u_${ids.hex(20)}`
  const number = draw.pick(WHATSAPP_NUMBERS)
  const page = `https://shop.example.com/${draw.pick(['pricing', 'cart', 'contact', 'products/lamp?color=brass'])}`
  return {
    ID: id,
    userID: PHONE_CHANNELS.includes(channel) ? phone : visitor,
    campaignId: draw.made(0.2, () => `camp_${draw.hex(12)}`),
    userOs: draw.made(0.75, () => draw.pick(SYSTEMS)),
    userBrowser: draw.made(0.7, () => draw.pick(BROWSERS)),
    ipAddress: draw.made(0.75, () => address(draw.int(1, 254), draw.int(1, 254), draw.chance(0.2))),
    browserTimezone: draw.some(0.75, locale.timezone),
    countryCode: draw.some(0.8, locale.country),
    userPlatform: draw.some(0.85, channel),
    contactIdentityId: ids.made(0.5, () => `ident_${ids.hex(20)}`),
    crossChannelContext: draw.made(0.2, () => `[${locale.tag}] ${sentence(draw, locale)} ${sentence(draw, locale)}`),
    notifyToUserId: draw.made(0.25, () => `user_${draw.hex(16)}`),
    origin: draw.some(
      0.85,
      draw.chance(0.75) ? channel : { page, referrer: draw.some(0.5, 'https://www.google.com/') },
    ),
    linkedChannels: draw.some(
      0.6,
      draw.chance(0.4) ? [] : draw.several(['web-chat', 'whatsapp', 'instagram', 'email'], 3),
    ),
    tags: draw.some(0.8, draw.chance(0.4) ? [] : draw.several(TAGS, 4)),
    whatsappPhoneNumberId: isWhatsapp ? `1098${number}` : undefined,
    whatsappBusinessNumber: isWhatsapp ? `+${number}` : undefined,
    whatsappDisplayPhoneNumber: isWhatsapp ? `+1 555-${number.slice(4)}` : undefined,
    whatsappBusinessAccountId: isWhatsapp ? draw.some(0.9, '220017775550199') : undefined,
  }
}

/** Returns an address of the documentation ranges (RFC 5737, RFC 3849). */
function address(third: number, last: number, sixth: boolean): string {
  return sixth ? `2001:db8::${third.toString(16)}:${last.toString(16)}` : `203.0.113.${last}`
}

// Section 2.10, `crmActivities`.

const TYPES = ['Message', 'Message', 'Call', 'Meeting', 'Task'] as const
const CHANNELS = ['LinkedIn', 'Email', 'WhatsApp', 'Phone'] as const

export function crm(scene: Scene) {
  const draw = drawFor(scene, PURPOSE.crm)
  const count = draw.chance(0.55) ? 0 : draw.int(1, 3)
  const activities = Array.from({ length: count }, (_, number) => activity(draw, scene, number))
  const elements = draw.some(0.85, activities)
  const notes = scene.life.noteMs.filter(ms => ms <= scene.asOfMs)
  return { crmActivities: notes.length === 0 ? elements : [...(elements ?? []), followUp(scene, notes)] }
}

/** Returns a task with notes made after the conversation, up to days later. */
function followUp({ seed, index, locale }: Scene, notes: readonly number[]) {
  const draw = new Draw(seed, index, PURPOSE.note)
  return {
    type: 'Task',
    id: `act_${index}_follow_up`,
    title: sentence(draw, locale),
    date: new Date(notes[0]!).toISOString(),
    completed: notes.length > 1,
    notesHistory: notes.map(ms => note(draw, locale, new Date(ms).toISOString())),
  }
}

function activity(draw: Draw, { index, createdMs, lastActivityMs, locale }: Scene, number: number) {
  const writtenMs = () => Math.min(lastActivityMs, createdMs + draw.int(0, 4 * HOUR))
  const notes = Array.from({ length: draw.int(0, 2) }, () => note(draw, locale, dateText(draw, writtenMs())))
  return {
    type: draw.pick(TYPES),
    id: `act_${index}_${number}_${draw.hex(6)}`,
    title: draw.made(0.9, () => sentence(draw, locale)),
    date: dateText(draw, createdMs),
    dueDate: draw.made(0.7, () => dateText(draw, createdMs + draw.int(1, 21) * DAY)),
    note: draw.made(0.5, () => prose(draw, locale, 60)),
    completed: draw.chance(0.5),
    responded: draw.some(0.8, draw.chance(0.5)),
    firstEngaged: draw.some(0.6, draw.chance(0.5)),
    secondEngaged: draw.some(0.5, draw.chance(0.2)),
    firstChannel: draw.made(0.7, () => draw.pick(CHANNELS)),
    secondChannel: draw.made(0.4, () => draw.pick(CHANNELS)),
    notesHistory: draw.some(0.8, notes),
    metadata: draw.made(0.5, () => ({ importedFrom: 'hubspot', externalId: draw.int(1, 999_999) })),
    // Undocumented, inside an array element.
    priority: draw.made(0.8, () => draw.pick(['low', 'normal', 'high'])),
  }
}

function note(draw: Draw, locale: Scene['locale'], timestamp: string) {
  const [agentId, agentName] = draw.pick(STAFF)
  return { text: sentence(draw, locale), agentId, agentName: draw.some(0.8, agentName), timestamp }
}
