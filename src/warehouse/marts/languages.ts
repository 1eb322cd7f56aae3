// The temporary table `known_languages`, by which facts name languages: each text that conversations in scope have as a
// language, if it is one. Only JavaScript has the names of languages (`core/language.ts`).
import { languageIn } from '../../core/language.ts'
import type { Writer } from '../connection.ts'

export const emptyLanguages = (writer: Writer): Promise<void> =>
  writer.run('CREATE OR REPLACE TEMP TABLE known_languages (text VARCHAR, code VARCHAR, name VARCHAR)')

/** True if a fact has another language than its conversation's texts name now. */
export async function areNamedDifferently({ rows }: Pick<Writer, 'rows'>): Promise<boolean> {
  const named = await rows<{ texts: (string | null)[]; code: string; name: string }>(
    `SELECT DISTINCT [c.language, c.lang] AS texts, f.language AS code, f.language_name AS name
     FROM marts.fct_conversations f JOIN conversations c USING (workspace_id, agent_id, conversation_id)`,
  )
  return named.some(({ texts, code, name }) => {
    const [language] = texts.flatMap(text => (text === null ? [] : (languageIn(text) ?? [])))
    return code !== (language?.code ?? 'unknown') || name !== (language?.name ?? 'unknown')
  })
}

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
