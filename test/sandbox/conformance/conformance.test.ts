// Compares the sandbox with the API document, sentence by sentence: what the sandbox serves by default, with `--literal`, and by
// each reading of what the section leaves open.
import { describe, expect, it } from 'vitest'
import type { SandboxOptions } from '../../../src/sandbox/options.ts'
import type { Readings } from '../../../src/sandbox/readings.ts'
import { open } from '../caller.ts'
import { AUTHENTICATION, ENDPOINTS, ERRORS } from './access-and-errors.ts'
import { TOOLS_CREATED, TOOLS_LISTED, VARIABLES_CREATED, VARIABLES_LISTED } from './agent-resources.ts'
import { AUDIT_LOG, WORKSPACE } from './audit-and-workspace.ts'
import { CRAWLER_DELETED, CRAWLER_PAGE } from './crawler.ts'
import { EXPORT } from './export.ts'
import { LIMITS } from './limits.ts'
import { METRIC_READ, METRIC_UPDATED } from './metrics.ts'
import { AGENT_SEARCH, ORGANIZATION_DELETED, ORGANIZATION_READ, TEAMS_LISTED } from './organizations.ts'
import { OUTLINE, type Sections } from './sentences.ts'
import { VOICES } from './voices.ts'

const SECTIONS: Sections = {
  '4': ENDPOINTS,
  '4.1': TOOLS_CREATED,
  '4.2': TOOLS_LISTED,
  '4.3': VARIABLES_CREATED,
  '4.4': VARIABLES_LISTED,
  '4.5': AUDIT_LOG,
  '4.6': WORKSPACE,
  '4.7': METRIC_READ,
  '4.8': METRIC_UPDATED,
  '4.9': VOICES,
  '4.10': CRAWLER_PAGE,
  '4.11': CRAWLER_DELETED,
  '4.12': EXPORT,
  '4.13': ORGANIZATION_READ,
  '4.14': TEAMS_LISTED,
  '4.15': ORGANIZATION_DELETED,
  '4.16': AGENT_SEARCH,
  '5': AUTHENTICATION,
  '7': ERRORS,
  '8': LIMITS,
}

describe('the tables', () => {
  it('have every sentence of their sections', () => {
    const counts = Object.entries(SECTIONS).map(([section, { sentences }]) => [section, sentences.length])
    expect(Object.fromEntries(counts)).toEqual(OUTLINE)
  })
})

/** Of a reading: its name and value. */
const nameOf = (reading: Partial<Readings>) => Object.entries(reading).join(' ').replace(',', '=')

const inReading = (readings: Partial<Readings>): [string, Partial<SandboxOptions>] => [nameOf(readings), { readings }]

for (const [section, { readings = [], sentences }] of Object.entries(SECTIONS))
  describe(`section ${section}`, () => {
    for (const [place, [says, check, more = []]] of sentences.entries()) {
      const name = `${section} #${place + 1}: ${says}`
      if (typeof check !== 'function') {
        it.skip(`${name} (${check.untestable})`)
        continue
      }
      const modes = [
        ['default', {}] as const,
        ['literal', { literal: true }] as const,
        ...[...readings, ...more].map(inReading),
      ]
      it.each(modes)(`${name} [%s]`, (_mode, options) =>
        check(given => open({ conversations: 40, ...options, ...given })),
      )
    }
  })
