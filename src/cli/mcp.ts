// `convohouse mcp`: answers an assistant on this machine over standard input and output, from the published snapshot.
import { join } from 'node:path'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import type { Command } from 'commander'
import { EXIT_CODES } from '../core/errors.ts'
import { restrictUmask } from '../files/durable.ts'
import type { Scope } from '../serve/access/tokens.ts'
import { assistantServer } from '../serve/mcp/assistant-server.ts'
import { configOrHome } from './flags/configuration.ts'
import { addConfigFlag } from './flags/sync-flags.ts'
import { packageFacts } from './package-facts.ts'
import { openServing } from './serve/serving.ts'
import { stopOnSignals, untilStopping } from './terminal/signals.ts'
import { scopes } from './token.ts'

const DEFAULT_SCOPES: readonly Scope[] = ['metrics', 'sql', 'content']

export const define = (command: Command): Command =>
  addConfigFlag(command)
    .option('--scope <scopes>', `what the assistant may see (default: ${DEFAULT_SCOPES.join(',')})`, scopes)
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse mcp                          an assistant starts it; it ends with the assistant
  $ convohouse mcp --scope metrics          figures only: no SQL, no transcripts, no names

It reads the snapshot that \`serve\` reads, which \`serve\` or \`publish\` writes. docs/assistants.md shows how to add it to assistants; for those on other
machines, \`convohouse serve\` answers at /mcp.`,
    )
    .action(async (flags: McpFlags) => {
      process.exitCode = await runMcp(flags)
    })

interface McpFlags {
  config?: string
  scope?: Scope[]
}

/** Runs until the input ends or a signal comes. @throws CONFIG_INVALID, CONFIG_MISSING, HOME_UNUSABLE */
async function runMcp(flags: McpFlags): Promise<number> {
  const config = configOrHome(flags.config)
  restrictUmask()
  const stop = stopOnSignals()
  const { readers, metrics, classes } = await openServing(config, join(config.home, 'serve', 'readers'))
  const held = new Set(flags.scope ?? DEFAULT_SCOPES)
  const { version } = packageFacts()
  const ended = new Promise<void>(resolve => process.stdin.once('end', resolve).once('close', resolve))
  const handle = serveStdio(() => assistantServer({ readers, metrics, classes, scopes: held, caller: null, version }))
  try {
    await Promise.race([ended, untilStopping(stop)])
    return EXIT_CODES.ok
  } finally {
    await handle.close()
    await readers.close()
    stop.release()
  }
}
