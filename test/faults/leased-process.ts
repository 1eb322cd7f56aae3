// Fetches under a lease in a process of its own: `leased-process.js CONFIG INPUT CLOCK`. The file CLOCK holds the time that this
// process sees, so that a lease is over without a wait.
import { readFileSync } from 'node:fs'
import { openWorkspaceContexts } from '../../src/app/workspace-context.ts'
import { systemClock } from '../../src/clock.ts'
import { readConfig } from '../../src/config.ts'
import type { FetchInput } from '../../workflows/steps.ts'

const [path, given, clockFile] = process.argv.slice(2) as [string, string, string]
const { request, ...input } = JSON.parse(given) as FetchInput
const config = readConfig({ path, env: process.env })
const now = () => Number(readFileSync(clockFile, 'utf8'))
const contexts = openWorkspaceContexts({ config, leaseMs: 120_000, clock: { ...systemClock, now } })
const { steps } = await contexts.of({ workspaceId: request.workspaceId })
const outcome = await steps.fetchPages({ request, ...input }, { signal: new AbortController().signal })
await contexts.close()
process.stdout.write(`${JSON.stringify(outcome)}\n`)
