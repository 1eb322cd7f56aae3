// Section 2.10, "Contact and lead".
import { DAY } from '../../core/time.ts'
import { PURPOSE } from '../random.ts'
import { dateText, prose } from './prose.ts'
import type { Scene } from './scene.ts'
import { drawFor } from './scene.ts'

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
  const draw = drawFor(scene, PURPOSE.contact)
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
