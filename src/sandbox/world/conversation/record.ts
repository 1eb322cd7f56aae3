// A conversation record (section 2.10), assembled from its parts. Records are never stored.
import { PURPOSE } from '../random.ts'
import { contact, environment } from './contact.ts'
import { counters, tokens } from './counters.ts'
import { crm } from './crm.ts'
import { findings } from './findings.ts'
import { assignment, handling } from './handling.ts'
import { integration } from './integration.ts'
import { sentence } from './locales.ts'
import { createScene, drawFor, type Life, type Scene, type Setting } from './scene.ts'

/** The parts share no key, so their texts are joined, at a quarter of the cost of merging the objects (0.5 ms). */
const PARTS: readonly ((scene: Scene) => object)[] = [
  environment,
  counters,
  contact,
  handling,
  assignment,
  integration,
  crm,
  tokens,
  findings,
  undocumented,
]

/**
 * The record at `nowMs` as JSON text. The conversation must have begun by then. Absent fields are omitted.
 */
export function renderDocument(setting: Setting, life: Life, nowMs: number): string {
  const scene = createScene(setting, life, nowMs)
  let fields = ''
  for (const part of PARTS) {
    const text = JSON.stringify(part(scene))
    if (text !== '{}') fields += (fields === '' ? '' : ',') + text.slice(1, -1)
  }
  return `{${fields}}`
}

/** The same record as an object, in a third of the time of rendering and parsing it. Absent fields are undefined. */
export function recordOf(scene: Scene): Record<string, unknown> {
  return Object.assign({}, ...PARTS.map(part => part(scene))) as Record<string, unknown>
}

/** Fields that real records carry although section 2.10 does not list them. */
function undocumented(scene: Scene) {
  const draw = drawFor(scene, PURPOSE.extras)
  const { locale, sessions } = scene
  return {
    title: draw.made(0.9, () => sentence(draw, locale)),
    lastMessage: draw.made(0.95, () => sentence(draw, locale)),
    widgetVersion: draw.made(0.7, () => `4.${draw.int(0, 12)}.${draw.int(0, 9)}`),
    unreadCount: draw.made(0.5, () => draw.int(0, sessions.at(-1)!.messages)),
    attachments: draw.made(0.1, () => [
      { kind: 'image', url: `https://cdn.example.com/a/${draw.hex(20)}.png`, bytes: draw.int(1_000, 4_000_000) },
    ]),
  }
}
