import { Command } from 'commander'

export const initCommand = (): Command =>
  new Command('init')
    .description('write a commented convohouse.yaml into this folder')
    .option('-f, --force', 'overwrite one that is there')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse init              every setting, with what it does and its default
  $ convohouse init --force      the same, over the file that is there`,
    )
    .action(async (flags: { force?: boolean }) => {
      const { runInit } = await import('../init.ts')
      await runInit(flags)
    })
