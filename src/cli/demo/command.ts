import { Command } from 'commander'
import { filled } from '../flags/values.ts'

export const demoCommand = (): Command =>
  new Command('demo')
    .description('try it without an account: a sandbox, a sync, queries, and a second sync')
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
