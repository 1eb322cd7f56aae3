// Section 2.10, "Identifiers and environment".
import { PURPOSE } from '../random.ts'
import { sentence } from './prose.ts'
import type { Channel, Scene } from './scene.ts'
import { drawFor } from './scene.ts'

const SYSTEMS = ['Windows 11', 'macOS 15.1', 'Android 15', 'iOS 18.1', 'Linux x86_64'] as const
const BROWSERS = ['Chrome 131', 'Safari 18', 'Firefox 133', 'Edge 131', 'Instagram in-app'] as const
const TAGS = ['vip', 'refund', 'follow-up', 'Größe XL', '返品', 'hot lead 🔥', 'spam?', 'B2B'] as const
const WHATSAPP_NUMBERS = ['15550100', '15550101', '15550102'] as const
const PHONE_CHANNELS: readonly Channel[] = ['voice', 'telephony', 'whatsapp']

export function environment(scene: Scene) {
  const draw = drawFor(scene, PURPOSE.environment)
  const { channel, locale, id } = scene
  const isWhatsapp = channel === 'whatsapp'
  const phone = `${locale.phonePrefix}${draw.int(1_000, 9_999)}`
  const number = draw.pick(WHATSAPP_NUMBERS)
  const page = `https://shop.example.com/${draw.pick(['pricing', 'cart', 'contact', 'products/lamp?color=brass'])}`
  return {
    ID: id,
    userID: PHONE_CHANNELS.includes(channel) ? phone : `u_${draw.hex(20)}`,
    campaignId: draw.made(0.2, () => `camp_${draw.hex(12)}`),
    userOs: draw.made(0.75, () => draw.pick(SYSTEMS)),
    userBrowser: draw.made(0.7, () => draw.pick(BROWSERS)),
    ipAddress: draw.made(0.75, () => address(draw.int(1, 254), draw.int(1, 254), draw.chance(0.2))),
    browserTimezone: draw.some(0.75, locale.timezone),
    countryCode: draw.some(0.8, locale.country),
    userPlatform: draw.some(0.85, channel),
    contactIdentityId: draw.made(0.5, () => `ident_${draw.hex(20)}`),
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

/** An address of the ranges that are set aside for documentation (RFC 5737, RFC 3849). */
function address(third: number, last: number, sixth: boolean): string {
  return sixth ? `2001:db8::${third.toString(16)}:${last.toString(16)}` : `203.0.113.${last}`
}
