// The temporary table `known_languages`, by which marts name languages: each text that voices of agents and
// conversations in scope have as a language, if it is one. Only JavaScript has the names of languages (`core/language.ts`).
import { languageIn } from '../../core/language.ts'
import type { Writer } from '../connection.ts'

/** True if a mart has another language than the texts of its conversations or agents name now. */
export async function areNamedDifferently({ rows }: Pick<Writer, 'rows'>): Promise<boolean> {
  const named = await rows<{ texts: (string | null)[]; code: string; name: string }>(
    `SELECT DISTINCT [c.language, c.lang] AS texts, f.language AS code, f.language_name AS name
     FROM marts.fct_conversations f JOIN conversations c USING (workspace_id, agent_id, conversation_id)
     UNION SELECT [a.voice_config_speech_gen_language], d.voice_language, d.voice_language_name
     FROM marts.dim_agents d LEFT JOIN agents a USING (workspace_id, agent_id)`,
  )
  return named.some(({ texts, code, name }) => {
    const [language] = texts.flatMap(text => (text === null ? [] : (languageIn(text) ?? [])))
    return code !== (language?.code ?? 'unknown') || name !== (language?.name ?? 'unknown')
  })
}

/** Fills the table for all agents and these conversations, given as an SQL relation. */
export async function nameLanguages(writer: Writer, conversations = '(FROM conversations LIMIT 0)'): Promise<void> {
  await writer.run('CREATE OR REPLACE TEMP TABLE known_languages (text VARCHAR, code VARCHAR, name VARCHAR)')
  const texts = await writer.rows<{ text: string | null }>(
    `SELECT DISTINCT unnest([language, lang]) AS text FROM ${conversations}
     UNION SELECT voice_config_speech_gen_language FROM agents`,
  )
  const known = texts.flatMap(({ text }) => {
    const language = text === null ? null : languageIn(text)
    return language === null ? [] : [{ text, ...language }]
  })
  await writer.append('known_languages', known)
}
