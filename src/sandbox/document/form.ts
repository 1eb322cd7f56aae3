// The form that a contact fills in on the web site, where the story has one: its answers are captured as variables.
import { PURPOSE } from '../random.ts'
import type { Scene } from './scene.ts'
import { drawFor } from './scene.ts'

/** Undefined until it is submitted, and on channels that show no form. */
export function formAnswers(scene: Scene): Record<string, unknown> | undefined {
  const { formMs } = scene.story ?? {}
  if (formMs === undefined || formMs > scene.asOfMs || scene.channel !== 'web-chat') return undefined
  const draw = drawFor(scene, PURPOSE.form)
  return {
    form_seats: draw.int(1, 500),
    'Form: company name': draw.pick(['Northwind Traders', 'Müller & Söhne GmbH', '株式会社さくら']),
    form_newsletter: draw.chance(0.4),
    form_when: draw.some(0.7, draw.pick(['this week', 'this quarter'])),
  }
}
