// Section 2.10, "Other": sessions, metrics, variables, campaign calls and the funnel, none of which has a documented shape.
import { MINUTE } from '../../../core/time.ts'
import { SENTIMENTS } from '../agents/metrics.ts'
import { type Draw, PURPOSE } from '../random.ts'
import { sentence } from './locales.ts'
import { drawFor, type Scene, type SeenSession } from './scene.ts'

const STEPS = ['visited', 'asked_price', 'left_contact', 'booked_demo'] as const

export function findings(scene: Scene) {
  const draw = drawFor(scene, PURPOSE.funnel)
  const inFunnel = draw.chance(0.35)
  return {
    capturedVariables: withForm(
      scene,
      draw.made(0.8, () => capturedVariables(draw, scene)),
    ),
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

function withForm(scene: Scene, captured: object | null | undefined) {
  const answers = formAnswers(scene)
  return answers === undefined ? captured : { ...captured, ...answers }
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
  return [
    {
      metricId: 'met_sentiment',
      key: 'sentiment',
      type: 'enum',
      value: draw.pick(SENTIMENTS),
      measuredAt,
    },
    { metricId: 'met_effort', key: 'effort', type: 'number', value: draw.decimal(0, 1, 3), measuredAt },
    { metricId: 'met_solved', key: 'solved', type: 'boolean', value: draw.chance(0.7), measuredAt },
    {
      metricId: 'met_topics',
      key: 'topics',
      type: 'array',
      value: draw.several(['billing', 'délai', '配送'], 2),
      measuredAt,
    },
    { metricId: 'met_quote', key: 'quote', type: 'text', value: draw.some(0.7, sentence(draw, locale)), measuredAt },
  ]
}

/** Answers of the story's web form, captured as variables. Undefined until submitted, and on channels without forms. */
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
