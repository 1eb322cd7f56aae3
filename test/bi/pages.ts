// The pages of docs/bi, whose code tests run as it is printed there.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const page = (name: string): string =>
  readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'bi', name), 'utf8')

/** The part of a page below a heading of the second level. @throws if there is none */
export function section(name: string, heading: string): string {
  const [, ...parts] = page(name).split('\n## ')
  const found = parts.find(part => part.startsWith(`${heading}\n`))
  if (found === undefined) throw new Error(`docs/bi/${name} has no part ${heading}`)
  return found
}

/** The blocks of code in a language. */
export const blocks = (text: string, language: string): string[] =>
  [...text.matchAll(new RegExp(`\`\`\`${language}\\n([^\`]+)\`\`\``, 'g'))].map(([, block]) => block!)

export const statements = (sql: string): string[] => sql.split(/;\s*/).filter(Boolean)
