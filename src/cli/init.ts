// `convohouse init`: writes a commented configuration.
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { CONFIG_FILE } from '../config.ts'
import { ConvohouseError } from '../core/errors.ts'
import { CONFIG_TEMPLATE } from './init/template.ts'
import { print } from './terminal/print.ts'

const NEXT = [
  'Next:',
  '  1. Put the id and the address of your workspace into it.',
  '  2. export CONVOHOUSE_API_TOKEN=…   (the secret key of the workspace)',
  '  3. convohouse plan                 shows what a sync would read; it buys nothing',
  '  4. convohouse sync',
]

function failure(file: string, cause: NodeJS.ErrnoException): ConvohouseError {
  if (cause.code === 'EEXIST') {
    return new ConvohouseError('CONFIG_EXISTS', {
      what: `${file} is there already.`,
      hint: 'Mend it by hand, or write it anew with --force.',
    })
  }
  return new ConvohouseError('HOME_UNUSABLE', {
    what: `${file} cannot be written (${cause.code ?? cause.message}).`,
    hint: 'Run it in a folder that you may write to.',
    cause,
  })
}

/** @throws CONFIG_EXISTS, HOME_UNUSABLE */
export async function runInit({ force }: { force?: boolean }): Promise<void> {
  const file = resolve(CONFIG_FILE)
  await writeFile(file, CONFIG_TEMPLATE, { flag: force ? 'w' : 'wx' }).catch(cause => {
    throw failure(file, cause)
  })
  print(`Wrote ${file}`, '', ...NEXT)
}
