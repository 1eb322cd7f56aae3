// Section 2.12, "Nodes".
import type { Draw } from '../random.ts'
import { canary } from './canary.ts'

export function nodes(draw: Draw, agent: number) {
  return {
    enableNodes: true,
    nodes: [
      node(
        draw,
        { id: 'greeting', type: 'conversation', isGlobal: false, children: ['qualification', 'fallback'] },
        agent,
      ),
      node(draw, { id: 'qualification', type: 'conversation', isGlobal: false, children: ['booking'] }, agent),
      node(draw, { id: 'booking', type: 'tool', isGlobal: false, children: [] }, agent),
      node(draw, { id: 'fallback', type: 'conversation', isGlobal: true, children: [] }, agent),
    ],
    nodesSettings: { startNodeId: 'greeting', maxTransitions: 50 },
    advanced: {
      serverUrl: 'https://hooks.example.com/agent',
      serverUrlSecret: canary('advanced-serverUrlSecret', agent),
    },
    enableFallback: draw.chance(0.5),
    fallbackSettings: { message: 'One moment, please.', retries: 2 },
  }
}

interface NodePlan {
  id: string
  type: string
  isGlobal: boolean
  children: string[]
}

function node(draw: Draw, { id, type, isGlobal, children }: NodePlan, agent: number) {
  return {
    id,
    name: id,
    description: `Node ${id}`,
    instructions: 'Greet, then find out what the visitor needs. Use {{tool:tool_lookup}} for orders.',
    llmConfig: { modelId: 'gpt-4o', temperature: draw.decimal(0, 1, 1), maxTokens: 800 },
    language: null,
    mcpServers: [
      {
        name: 'crm',
        url: 'https://mcp.example.com/sse',
        headers: {
          Authorization: `Bearer ${canary(`mcp-${id}`, agent)}`,
          Cookie: `session=${canary(`mcp-cookie-${id}`, agent)}`,
          'X-Auth': canary(`mcp-x-auth-${id}`, agent),
        },
      },
      {
        // The name says nothing: a server may have any.
        name: 'notes',
        command: 'notes-mcp',
        args: ['--quiet', '--api-key', canary(`mcp-option-${id}`, agent)],
        env: { OPENAI_KEY: canary(`mcp-env-${id}`, agent), REGION: 'eu' },
      },
    ],
    voiceInstructions: '',
    isGlobal,
    toolsIds: ['tool_lookup'],
    toolsSettings: { tool_lookup: { timeoutMs: 5_000 } },
    childrenNodes: children.map(nodeId => ({ nodeId, condition: `the visitor is ready for ${nodeId}` })),
    routerLlmConfig: { modelId: 'gpt-4.1-mini' },
    toolUseBias: 0,
    autoRerouter: true,
    type,
    kb: { enabled: true, tags: ['pricing'] },
    conditionData: null,
    preStart: null,
    startConfig: { firstMessage: 'Hello!' },
  }
}
