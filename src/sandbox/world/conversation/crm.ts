// Section 2.10, `crmActivities`.
import { DAY, HOUR } from '../../../core/time.ts'
import { Draw, PURPOSE } from '../random.ts'
import { dateText, prose, sentence } from './locales.ts'
import { drawFor, type Scene } from './scene.ts'

const TYPES = ['Message', 'Message', 'Call', 'Meeting', 'Task'] as const
const CHANNELS = ['LinkedIn', 'Email', 'WhatsApp', 'Phone'] as const
const AUTHORS = [
  ['user_5f2a', 'Sam Rivera'],
  ['user_81cc', 'Kateřina Dvořáková'],
] as const

export function crm(scene: Scene) {
  const draw = drawFor(scene, PURPOSE.crm)
  const count = draw.chance(0.55) ? 0 : draw.int(1, 3)
  const activities = Array.from({ length: count }, (_, number) => activity(draw, scene, number))
  const elements = draw.some(0.85, activities)
  const notes = (scene.story?.noteMs ?? []).filter(ms => ms <= scene.asOfMs)
  return { crmActivities: notes.length === 0 ? elements : [...(elements ?? []), followUp(scene, notes)] }
}

/** A task with notes made after the conversation, up to days later. */
function followUp({ seed, index, locale }: Scene, notes: readonly number[]) {
  const draw = new Draw(seed, index, PURPOSE.note)
  return {
    type: 'Task',
    id: `act_${index}_follow_up`,
    title: sentence(draw, locale),
    date: new Date(notes[0]!).toISOString(),
    completed: notes.length > 1,
    notesHistory: notes.map(ms => {
      const [agentId, agentName] = draw.pick(AUTHORS)
      return { text: sentence(draw, locale), agentId, agentName, timestamp: new Date(ms).toISOString() }
    }),
  }
}

function activity(draw: Draw, scene: Scene, number: number) {
  const { createdMs, locale } = scene
  const notes = Array.from({ length: draw.int(0, 2) }, () => noteOf(draw, scene))
  return {
    type: draw.pick(TYPES),
    id: `act_${scene.index}_${number}_${draw.hex(6)}`,
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
    metadata: draw.made(0.5, () => ({
      importedFrom: 'hubspot',
      externalId: draw.int(1, 999_999),
      flags: { synced: draw.chance(0.8), retries: 0 },
    })),
    // Undocumented, inside an array element.
    priority: draw.made(0.8, () => draw.pick(['low', 'normal', 'high'])),
  }
}

function noteOf(draw: Draw, { createdMs, lastActivityMs, locale }: Scene) {
  const [agentId, agentName] = draw.pick(AUTHORS)
  const writtenMs = Math.min(lastActivityMs, createdMs + draw.int(0, 4 * HOUR))
  return {
    text: sentence(draw, locale),
    agentId,
    agentName: draw.some(0.8, agentName),
    timestamp: dateText(draw, writtenMs),
  }
}
