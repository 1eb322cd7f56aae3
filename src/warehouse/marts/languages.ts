// The temporary table `known_languages`, by which facts name languages: each text that conversations in scope have as a
// language, if it is one. Only JavaScript has the names of languages (`core/language.ts`).
import { languageIn } from '../../core/language.ts'
import type { Writer } from '../connection.ts'

export const emptyLanguages = (writer: Writer): Promise<void> =>
  writer.run('CREATE OR REPLACE TEMP TABLE known_languages (text VARCHAR, code VARCHAR, name VARCHAR)')

/** Fills the table for these conversations, given as an SQL relation. */
export async function nameLanguages(writer: Writer, conversations: string): Promise<void> {
  await emptyLanguages(writer)
  const texts = await writer.rows<{ text: string | null }>(
    `SELECT DISTINCT unnest([language, lang]) AS text FROM ${conversations}`,
  )
  const known = texts.flatMap(({ text }) => {
    const language = text === null ? null : languageIn(text)
    return language === null ? [] : [{ text, ...language }]
  })
  await writer.append('known_languages', known)
}
