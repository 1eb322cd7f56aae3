import type { Command } from 'commander'
import { filled } from '../flags/values.ts'

export const define = (command: Command): Command =>
  command
    .option(
      '--home <folder>',
      'empty folder for the warehouse (default: a new temporary folder, which is kept)',
      filled('--home'),
    )
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse demo
  $ convohouse demo --home ./demo-data`,
    )
    .action(async (flags: { home?: string }) => {
      const { runDemo } = await import('./demo.ts')
      await runDemo(flags)
    })
