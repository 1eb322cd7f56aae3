// Section 2.12, "Language model and knowledge base settings".
import type { Draw } from '../random.ts'

const PROMPT = `# Role
You answer visitors of the shop. Be brief, be kind, never invent a price.

# Rules
1. Ask for the order number before you look anything up.
2. When the visitor asks for a person, hand over at once.
3. Quote the "Terms" literally; they hold {{var:terms_version}}.`

export function conversationModel(draw: Draw) {
  return {
    vg_systemPrompt: PROMPT,
    vg_prompt: 'Answer in the language of the visitor.',
    vg_temperature: draw.decimal(0, 1, 2),
    vg_defaultModel: draw.pick(['gpt-4o', 'claude-sonnet-4']),
    vg_maxTokens: 1_024,
    vg_kbDimension: 1_536,
    vg_kbTopChunks: draw.int(3, 8),
    vg_historyLength: 20,
    vg_enableUIEngine: draw.chance(0.6),
    vg_enableUIEngineForms: draw.chance(0.4),
    vg_UIEngineConfig: { carousel: { enabled: true, maxItems: 6 }, calendar: { enabled: false } },
    vgOptions: { fallbackModel: 'gpt-4.1-mini', reasoningEffort: null },
    kbTags: ['pricing', 'returns', 'Garantie'],
    kbTagsDataMap: {
      pricing: { documents: draw.int(1, 40), color: '#00aa88' },
      returns: { documents: 3, color: null },
    },
  }
}
