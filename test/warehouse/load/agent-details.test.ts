// Agents in detail: child tables and columns from the records that a listing returns.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { coerceRecord } from '../../../src/catalog/inspection/coerce.ts'
import { fits } from '../../../src/catalog/inspection/inspect.ts'
import { agent } from '../../../src/catalog/resources/agents.ts'
import type { Field, Fields } from '../../../src/catalog/shape.ts'
import { anyAgent } from '../../catalog/arbitrary-records.ts'
import { landAgents } from '../landed-pages.ts'
import { temporaryWarehouse } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

const WITHOUT_KEYS = '* EXCLUDE (workspace_id, agent_id, _record)'

/** Rows of each table of details, without NULLs. */
async function detailsOf(...agents: unknown[]) {
  const workspace = app.workspace()
  await workspace.load(await landAgents(workspace.landing, { agents }))
  return {
    workspace,
    rows: async (table: string, what = WITHOUT_KEYS) =>
      (await workspace.rows(table, what)).map(row =>
        Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)),
      ),
  }
}

describe('the details of an agent', () => {
  it('are its nodes, with what leads from one to another and the tools of each', async () => {
    const { rows } = await detailsOf({
      ID: 'a',
      nodes: [
        {
          id: 'greeting',
          name: 'Greeting',
          instructions: 'Greet.',
          isGlobal: false,
          toolUseBias: '0.5',
          autoRerouter: true,
          llmConfig: { modelId: 'gpt-4o', temperature: 0.3, seed: 7 },
          routerLlmConfig: 'gpt-mini',
          toolsIds: ['lookup', 7],
          childrenNodes: [{ nodeId: 'booking', condition: 'wants a visit' }, null, { nodeId: 3, weight: 2 }],
          mood: 'kind',
        },
        { id: 8, llmConfig: { model: { name: 'nested' } }, toolsIds: [] },
        null,
      ],
    })
    expect(await rows('agent_nodes')).toEqual([
      {
        position: 1,
        node_id: 'greeting',
        name: 'Greeting',
        is_global: false,
        instructions: 'Greet.',
        llm_config: '{"modelId":"gpt-4o","temperature":0.3,"seed":7}',
        llm_model: 'gpt-4o',
        llm_temperature: 0.3,
        router_llm_config: '"gpt-mini"',
        router_llm_model: 'gpt-mini',
        tool_use_bias: 0.5,
        auto_rerouter: true,
        extra: '{"mood":"kind"}',
      },
      { position: 2, node_id: '8', llm_config: '{"model":{"name":"nested"}}' },
    ])
    expect(await rows('agent_node_edges')).toEqual([
      { node_position: 1, node_id: 'greeting', position: 1, child_node_id: 'booking', condition: 'wants a visit' },
      { node_position: 1, node_id: 'greeting', position: 3, child_node_id: '3', extra: '{"weight":2}' },
    ])
    expect(await rows('agent_node_tools')).toEqual([
      { node_position: 1, node_id: 'greeting', position: 1, tool_id: 'lookup' },
      { node_position: 1, node_id: 'greeting', position: 2, tool_id: '7' },
    ])
  })

  it('are its tools, with the names that its record holds, and its tags', async () => {
    const { rows } = await detailsOf({
      ID: 'a',
      assignedToolsIds: ['t1', 't2', 't1', { id: 't3' }, null, ''],
      tools: [{ id: 't2', name: 'Refund' }, { id: 't4', name: 'Weather' }, { name: 'nameless' }, 'x'],
      kbTags: ['pricing', { label: 'returns', color: 'red' }, {}, null],
      convoTags: ['vip', 3],
      marketplace: { tags: ['retail'] },
    })
    expect(await rows('agent_tools')).toEqual([
      { position: 1, tool_id: 't1', is_assigned: true },
      { position: 2, tool_id: 't2', tool_name: 'Refund', is_assigned: true },
      { position: 3, tool_id: 't3', is_assigned: true },
      { position: 4, tool_id: 't4', tool_name: 'Weather', is_assigned: false },
    ])
    expect((await rows('agent_tags', 'position, kind, tag')).map(row => [row.kind, row.tag])).toEqual([
      ['kb', 'pricing'],
      ['kb', 'returns'],
      ['conversation', 'vip'],
      ['conversation', '3'],
      ['marketplace', 'retail'],
    ])
  })

  it('are its settings: scalars without a column, and what is inside fields of settings; all stay in extra', async () => {
    const sent = {
      vg_temperature: 0.2,
      vg_historyLength: '20',
      vg_seed: 12345678901234567890n,
      vg_UIEngineConfig: { carousel: { enabled: true, sizes: [1, 'two'] }, 'carousel.enabled': false, none: null },
      vgOptions: { fallbackModel: 'mini' },
      buttonColor: '#fff',
      kbTagsDataMap: { pricing: { documents: 3 } },
      tabs: ['chat'],
      enableFallback: null,
    }
    const text = JSON.stringify({ ID: 'a', title: 'T', ...sent }, (_, value) =>
      typeof value === 'bigint' ? `#${value}#` : value,
    ).replace(/"#(\d+)#"/, '$1')
    const workspace = app.workspace()
    await workspace.load(await landAgents(workspace.landing, { agents: [], text }))
    const settings = await workspace.rows('agent_settings', 'position, setting, value_text, value_number')
    expect(settings.map(({ setting, value_text, value_number }) => [setting, value_text, value_number])).toEqual([
      ['vg_temperature', '0.2', 0.2],
      ['vg_historyLength', '20', 20],
      ['vg_seed', '12345678901234567890', null],
      // Of two settings with one path the later one counts, in the place of the first.
      ['vg_UIEngineConfig.carousel.enabled', 'false', null],
      ['vg_UIEngineConfig.carousel.sizes', '[1,"two"]', null],
      ['vgOptions.fallbackModel', 'mini', null],
      ['buttonColor', '#fff', null],
    ])
    const [row] = await workspace.rows('agents', 'extra')
    expect(Object.keys(JSON.parse(row!.extra as string)).sort()).toEqual(
      Object.keys(sent)
        .filter(key => key !== 'enableFallback')
        .sort(),
    )
  })

  it('are columns for voice, handoff, marketplace and the server', async () => {
    const { rows } = await detailsOf({
      ID: 'a',
      voiceConfig: {
        transcriber: {
          provider: 'deepgram',
          modelId: 'nova-3',
          language: 'de-DE',
          patienceFactor: '0.6',
          keyterms: [],
        },
        speechGen: { provider: 'azure', modelId: 'm', voiceId: 'v', region: 'westeurope' },
        config: { recordAudio: 'true', backgroundNoise: 'office' },
      },
      showHandoffEvenIfOffline: true,
      advanced: { serverUrl: 'https://hooks.example.com' },
      marketplace: {
        enabled: true,
        priceUSD: 9.5,
        listedAt: '2026-01-02T03:04:05Z',
        updatedAt: 1767323045000,
        likeCount: 3,
      },
    })
    const columns = `voice_config_transcriber_provider AS transcriber, voice_config_transcriber_language AS language,
      voice_config_transcriber_patience_factor AS patience, voice_config_speech_gen_voice_id AS voice,
      voice_config_config_record_audio AS record_audio, show_handoff_even_if_offline AS offline, advanced_server_url AS url,
      marketplace_price_usd AS usd, marketplace_listed_at::VARCHAR AS listed, marketplace_updated_at::VARCHAR AS updated,
      marketplace_updated_at_text AS updated_text, marketplace_like_count AS likes, extra`
    expect(await rows('agents', columns)).toEqual([
      {
        transcriber: 'deepgram',
        language: 'de-DE',
        patience: 0.6,
        voice: 'v',
        record_audio: true,
        offline: true,
        url: 'https://hooks.example.com',
        usd: 9.5,
        listed: '2026-01-02 03:04:05',
        updated: '2026-01-02 03:04:05',
        updated_text: '1767323045000',
        likes: '3',
        extra: '{"voiceConfig":{"transcriber":{"keyterms":[]}}}',
      },
    ])
  })

  it('are replaced with the agent', async () => {
    const workspace = app.workspace()
    const list = async (sentAtMs: number, record: object) =>
      workspace.load(await landAgents(workspace.landing, { agents: [{ ID: 'a', ...record }], sentAtMs }))
    await list(1_780_000_000_000, { nodes: [{ id: 'old', toolsIds: ['t'] }], vg_a: 1, kbTags: ['k'] })
    await list(1_780_000_060_000, { nodes: [{ id: 'new' }] })
    expect(await workspace.rows('agent_nodes', 'node_id')).toEqual([{ node_id: 'new' }])
    for (const table of ['agent_node_tools', 'agent_settings', 'agent_tags'])
      expect(await workspace.rows(table)).toEqual([])
  })
})

describe('an agent of any shape', () => {
  const fitsAll = (fields: Fields, object: Record<string, unknown>): void => {
    for (const [key, field] of Object.entries(fields)) expect(fits(field, object[key]), key).toBe(true)
  }

  it('has computed fields of the declared types', () => {
    const { fields } = agent.computed!
    const elements = (field: Field): Fields => (field.kind === 'objects' ? field.fields : {})
    fc.assert(
      fc.property(anyAgent, sent => {
        const { record } = coerceRecord(agent, sent)!
        fitsAll(fields, record)
        for (const [key, field] of Object.entries(fields))
          if (field.kind === 'objects')
            for (const element of record[key] as Record<string, unknown>[]) fitsAll(elements(field), element)
      }),
    )
  })

  it('is loaded, with an issue for what does not fit, and without losing a value', async () => {
    const any = fc.sample(anyAgent, 60).map((record, at) => ({ ...record, ID: `any-${at}` }))
    const odd = [
      { ID: 'odd-1', nodes: { greeting: {} }, voiceConfig: 'loud', marketplace: [], advanced: 1, vgOptions: 'x' },
      { ID: 'odd-2', nodes: ['greeting'], assignedToolsIds: 'one', tools: {}, kbTags: 'k', marketplace: { tags: 1 } },
      { ID: 'odd-3', nodes: [{ id: {}, childrenNodes: {}, toolsIds: [{}], llmConfig: [1], isGlobal: 'maybe' }] },
    ]
    const { workspace, rows } = await detailsOf(...any, ...odd)
    expect(await workspace.rows('agents', 'count(*) AS n')).toEqual([{ n: '63' }])
    expect(await workspace.rows('_quarantine')).toEqual([])
    const ofOdd = async (table: string, what: string, id = 'odd-') =>
      (await rows(table, `agent_id, ${what}`)).filter(row => String(row.agent_id).startsWith(id))
    expect((await ofOdd('agents', 'extra')).map(({ extra }) => JSON.parse(String(extra ?? null)))).toEqual([
      { nodes: { greeting: {} }, voiceConfig: 'loud', marketplace: [], advanced: 1, vgOptions: 'x' },
      { nodes: ['greeting'], assignedToolsIds: 'one', tools: {}, kbTags: 'k', marketplace: { tags: 1 } },
      null,
    ])
    expect(await ofOdd('agent_nodes', 'extra, llm_config', 'odd-3')).toEqual([
      {
        agent_id: 'odd-3',
        extra: '{"childrenNodes":{},"id":{},"isGlobal":"maybe","toolsIds":[{}]}',
        llm_config: '[1]',
      },
    ])
    expect(await rows('_issues', 'path')).toContainEqual({ path: 'nodes[].isGlobal' })
  })
})

describe('is_starred', () => {
  const listed = async (page: { starredIds?: string[] }) => {
    const workspace = app.workspace()
    const agents = [
      { ID: 'plain' },
      { ID: 'listed' },
      { ID: 'says so', starred: true },
      { ID: 'denies', starred: false },
    ]
    const starredAgents = [{ ID: 'only there' }]
    await workspace.load(await landAgents(workspace.landing, { agents, starredAgents, ...page }))
    const rows = await workspace.rows('agents', 'agent_id, is_starred')
    return Object.fromEntries(rows.map(row => [row.agent_id, row.is_starred]))
  }

  it('is as the list of starred agents says, or else the agent itself', async () => {
    expect(await listed({ starredIds: ['listed', 'only there'] })).toEqual({
      plain: false,
      listed: true,
      'says so': true,
      denies: false,
      'only there': true,
    })
  })

  it('is not known of an agent that does not say so, on a page of an earlier version', async () => {
    expect(await listed({})).toEqual({
      plain: null,
      listed: null,
      'says so': true,
      denies: false,
      'only there': true,
    })
  })
})
