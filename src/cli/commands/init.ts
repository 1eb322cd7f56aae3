import { Command } from 'commander'

export const initCommand = (): Command =>
  new Command('init')
    .description('write a commented convohouse.yaml into this folder')
    .option('-f, --force', 'overwrite an existing file')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse init              every setting, with its meaning and default
  $ convohouse init --force      the same, replacing an existing file`,
    )
    .action(async (flags: { force?: boolean }) => {
      const { runInit } = await import('../init.ts')
      await runInit(flags)
    })
