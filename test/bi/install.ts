// Installs the tools of these tests one after another before the first test begins, because test files run in parallel.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'
import { rounded, seconds } from '../bench/measure.ts'
import { EVIDENCE } from './evidence.ts'
import { EXTENSIONS } from './extensions.ts'
import { CACHE, install, isInstalled, type Tool } from './installed.ts'
import { SERVER } from './postgres-server.ts'
import { PYTHON } from './python.ts'
import { S3_SERVER } from './s3-server.ts'

const TOOLS: readonly Tool[] = [...[SERVER, EXTENSIONS, S3_SERVER, EVIDENCE], ...Object.values(PYTHON)]

/** Returns the lines of a failed command that state the reason. */
function reasonOf(error: unknown): string {
  const { stderr = '', message } = error as Error & { stderr?: string }
  const lines = stderr.split('\n').filter(line => /error|not found|no module|unable/i.test(line))
  return (lines.at(-1) ?? message.split('\n')[0]!).trim()
}

/** Installs a tool and prints the outcome. @returns null, or the reason why it is missing */
async function provided(tool: Tool): Promise<string | null> {
  const place = join(CACHE, tool.folder)
  if (isInstalled(tool)) {
    console.log(`present    ${tool.about}: ${place}`)
    return null
  }
  try {
    const taken = await seconds(() => install(tool))
    const { stdout } = await promisify(execFile)('du', ['-sm', place])
    console.log(`installed  ${tool.about}: ${place} (${rounded(taken, 0)} s, ${Number.parseInt(stdout, 10)} MB)`)
    return null
  } catch (error) {
    return reasonOf(error)
  }
}

export default async function setup(project: TestProject): Promise<undefined | (() => void)> {
  const lacking: Record<string, string> = {}
  const lines: string[] = []
  for (const tool of TOOLS) {
    const reason = await provided(tool)
    if (reason === null) continue
    lacking[tool.folder] = reason
    lines.push(`MISSING    ${tool.about}: ${reason}. Tests that need it are skipped.`)
    console.warn(lines.at(-1))
  }
  if (process.env.CI && lines.length > 0) throw new Error(lines.join('\n'))
  project.provide('lacking', lacking)
  // Prints it again below the results, where people look.
  return lines.length > 0 ? () => console.warn(lines.join('\n')) : undefined
}
