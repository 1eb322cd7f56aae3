// Custom metrics of an agent (section 2.3): those that its conversations carry, and others that were never measured.
import { DAY, SECOND } from '../../../core/time.ts'
import { Draw, mix, PURPOSE } from '../random.ts'

export interface Metric {
  id: string
  key: string
  description: string
  type: string
  isSystem: boolean
  /** Only of `enum` metrics. */
  options?: string[]
  createdAtUNIX: number
  updatedAtUNIX: number
}

/** Options of the metric `sentiment`. */
export const SENTIMENTS = ['positive', 'neutral', 'negative'] as const

interface Kind {
  /** Absent: an id of the agent's own. */
  id?: string
  key: string
  description: string
  type: string
  isSystem?: true
  options?: readonly string[]
}

/** The first five are in `metrics[]` of conversations. */
const KINDS: readonly Kind[] = [
  { id: 'met_sentiment', key: 'sentiment', description: 'How the visitor felt', type: 'enum', options: SENTIMENTS },
  { id: 'met_effort', key: 'effort', description: 'How hard it was, from 0 to 1', type: 'number' },
  { id: 'met_solved', key: 'solved', description: 'The question was answered', type: 'boolean', isSystem: true },
  { id: 'met_topics', key: 'topics', description: 'What it was about', type: 'array' },
  { id: 'met_quote', key: 'quote', description: 'A sentence of the visitor – “verbatim”', type: 'text' },
  { id: 'met_interruptions', key: 'interruptions', description: 'Times cut short', type: 'number', isSystem: true },
  { key: 'upsell', description: 'What was offered', type: 'enum', options: ['none', 'offered', 'accepté', '承諾'] },
  { key: 'politeness', description: '', type: 'number' },
]

/** The agent's metrics as generated. `agent`: its number from 0. */
export function agentMetrics({ seed, agent, createdMs }: { seed: number; agent: number; createdMs: number }): Metric[] {
  const draw = new Draw(mix(seed, agent), 0, PURPOSE.metric)
  return KINDS.map(({ id, key, description, type, isSystem = false, options }) => {
    const ownId = `met_${draw.hex(12)}`
    const createdAtUNIX = Math.floor((createdMs + draw.int(0, DAY)) / SECOND)
    const updatedAtUNIX = createdAtUNIX + draw.int(0, (30 * DAY) / SECOND)
    const shown = options && { options: [...options] }
    return { id: id ?? ownId, key, description, type, isSystem, ...shown, createdAtUNIX, updatedAtUNIX }
  })
}
