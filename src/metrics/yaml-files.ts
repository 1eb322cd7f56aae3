// The user's folders of declarations: each `.yaml` file declares one thing, whose name is that of the file.
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { parse } from 'yaml'
import type { z } from 'zod'
import { diskErrorText } from '../core/disk.ts'

/** `problem`: why the file cannot be read. */
export type YamlFile = { name: string; text: string } | { name: string; problem: string }

/** Returns the files in order of their names; the reason if the folder cannot be read. */
export async function yamlFiles(folder: string): Promise<YamlFile[] | string> {
  const files = await readdir(folder).catch(error => `the folder ${folder} cannot be read: ${diskErrorText(error)}`)
  if (typeof files === 'string') return files
  const found = files.filter(file => /\.ya?ml$/.test(file)).sort()
  return Promise.all(
    found.map(async file => {
      const name = file.slice(0, -extname(file).length)
      return readFile(join(folder, file), 'utf8').then(
        text => ({ name, text }),
        error => ({ name, problem: diskErrorText(error) }),
      )
    }),
  )
}

/** Returns what a file declares, or what is wrong with it. */
export function declaredIn<S extends z.ZodType>(
  schema: S,
  file: YamlFile,
): { declared: z.output<S> } | { problem: string } {
  if ('problem' in file) return file
  let given: unknown
  try {
    given = parse(file.text)
  } catch (error) {
    return { problem: `it is no YAML: ${String((error as Error).message).split('\n')[0]}` }
  }
  const result = schema.safeParse(given)
  if (result.success) return { declared: result.data }
  const { path, message } = result.error.issues[0]!
  return { problem: [path.join('.'), message].filter(part => part !== '').join(': ') }
}
