// Section 2.10, "Other": sessions, metrics, variables, campaign calls and the funnel, none of which has a documented shape.
import { MINUTE } from '../../../core/time.ts'
import { SENTIMENTS } from '../agents/resources.ts'
import { type Draw, PURPOSE } from '../random.ts'
import { sentence } from './locales.ts'
import { drawFor, type Scene, type SeenSession } from './scene.ts'

const STEPS = ['visited', 'asked_price', 'left_contact', 'booked_demo'] as const

export function findings(scene: Scene) {
  const draw = drawFor(scene, PURPOSE.funnel)
  const inFunnel = draw.chance(0.35)
  return {
    capturedVariables: captured(scene, draw),
    campaignCalls: draw.some(0.5, draw.chance(0.7) ? [] : [campaignCall(draw, scene)]),
    sessions: scene.sessions.map(session => sessionElement(session, scene)),
    metrics: draw.some(0.85, draw.several(metrics(draw, scene), 5)),
    funnelStepsMatched: inFunnel
      ? draw.several(STEPS, 4).map(step => ({ stepId: step, matchedAt: scene.createdMs }))
      : [],
    funnelScoreHistory: inFunnel
      ? [{ score: draw.decimal(0, 100, 1), at: scene.createdMs, reason: sentence(draw, scene.locale) }]
      : [],
    funnelExtractedData: inFunnel
      ? { budget: draw.int(1, 500) * 100, timeline: 'Q3', decisionMaker: draw.chance(0.5) }
      : {},
  }
}

function captured(scene: Scene, draw: Draw) {
  const spoken = draw.made(0.8, () => capturedVariables(draw, scene))
  const answers = formAnswers(scene)
  return answers === undefined ? spoken : { ...spoken, ...answers }
}

function capturedVariables(draw: Draw, { firstName, locale }: Scene) {
  return {
    first_name: firstName,
    order_number: draw.made(0.5, () => `A-${draw.int(10_000, 99_999)}`),
    'preferred time': draw.made(0.5, () => draw.pick(['morning', 'après-midi', 'nach 18 Uhr'])),
    consent: draw.chance(0.8),
    budget: draw.made(0.4, () => draw.decimal(100, 9_000, 2)),
    items: draw.made(0.3, () => [{ sku: `SKU-${draw.hex(6)}`, qty: draw.int(1, 5) }]),
    last_question: draw.made(0.6, () => sentence(draw, locale)),
  }
}

function campaignCall(draw: Draw, { createdMs }: Scene) {
  return {
    callId: `call_${draw.hex(16)}`,
    campaignId: `camp_${draw.hex(12)}`,
    status: draw.pick(['answered', 'no-answer', 'busy']),
    startedAt: createdMs,
    durationSeconds: draw.int(0, 900),
  }
}

function sessionElement(session: SeenSession, { channel }: Scene) {
  return {
    sessionId: session.id,
    startedAt: session.startMs,
    endedAt: session.endMs ?? null,
    messagesNum: session.messages,
    userMessagesNum: session.userMessages,
    channel,
    active: session.endMs === undefined,
    summary: session.summary,
  }
}

/** One metric per type of value seen in real records. */
function metrics(draw: Draw, { createdMs, lastActivityMs, locale }: Scene) {
  const measuredAt = Math.min(lastActivityMs, createdMs + draw.int(0, 10) * MINUTE)
  const values: [key: string, type: string, value: unknown][] = [
    ['sentiment', 'enum', draw.pick(SENTIMENTS)],
    ['effort', 'number', draw.decimal(0, 1, 3)],
    ['solved', 'boolean', draw.chance(0.7)],
    ['topics', 'array', draw.several(['billing', 'délai', '配送'], 2)],
    ['quote', 'text', draw.some(0.7, sentence(draw, locale))],
  ]
  return values.map(([key, type, value]) => ({ metricId: `met_${key}`, key, type, value, measuredAt }))
}

/** Returns the answers of the web form, captured as variables. Undefined until submitted, and on channels without forms. */
export function formAnswers(scene: Scene): Record<string, unknown> | undefined {
  const { formMs } = scene.life
  if (formMs === undefined || formMs > scene.asOfMs || scene.channel !== 'web-chat') return undefined
  const draw = drawFor(scene, PURPOSE.form)
  return {
    form_seats: draw.int(1, 500),
    'Form: company name': draw.pick(['Northwind Traders', 'Müller & Söhne GmbH', '株式会社さくら']),
    form_newsletter: draw.chance(0.4),
    form_when: draw.some(0.7, draw.pick(['this week', 'this quarter'])),
  }
}
