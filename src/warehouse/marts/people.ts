// Whom conversations name (`_people`): the newest name and address of each person, and the conversation that has it. A refresh looks at the
// changed conversations alone. It searches all conversations only for people who have lost the newest text, or the only mention, to a change.
import type { Writer } from '../connection.ts'
import { sqlFile } from '../sql-files.ts'
import { CONVERSATION_KEY, created, defineMacros, PEOPLE_SELECT, type Scope, selectInScope } from './scope.ts'

/** The table, among those that marts are built from. */
export const PEOPLE = '_people'

/** Finds everybody again. The macros must be defined. */
export async function fillPeople(writer: Writer): Promise<void> {
  await writer.run('RESET VARIABLE people')
  await writer.run(`DELETE FROM ${PEOPLE}`)
  await writer.run(`INSERT INTO ${PEOPLE} BY NAME ${sqlFile(PEOPLE_SELECT)}`)
}

/** Begins to follow changed conversations. */
export async function beginPeople(writer: Writer): Promise<void> {
  await writer.run('RESET VARIABLE people')
  await created(writer, 'found_people', `FROM ${PEOPLE} LIMIT 0`)
}

/** Adds whom the conversations in scope name. */
export const findPeople = (writer: Writer, scope: Scope): Promise<void> =>
  writer.run(`INSERT INTO found_people BY NAME ${selectInScope(sqlFile(PEOPLE_SELECT), scope)}`)

/** Brings `_people` up to date after all changed conversations were in scope. @returns whether a name, an address or a person changed */
export async function followPeople(writer: Writer): Promise<boolean> {
  const lost = await created(
    writer,
    'lost_people',
    `FROM ${PEOPLE} SEMI JOIN changed_conversations USING (${CONVERSATION_KEY.join(', ')})`,
  )
  if (lost > 0) await findDoubtful(writer)
  const named = ['lost_people', 'found_people'].map(people => `SELECT workspace_id, user_id FROM ${people}`)
  await created(writer, 'touched_people', named.join(' UNION '))
  await created(writer, 'next_people', sqlFile('refresh/next_people'))
  const [different] = await writer.rows(
    `SELECT 1 FROM (FROM ${PEOPLE} SEMI JOIN touched_people USING (workspace_id, user_id)) p
     FULL JOIN next_people n USING (workspace_id, user_id, kind)
     WHERE p.kind IS NULL OR n.kind IS NULL OR p.text IS DISTINCT FROM n.text LIMIT 1`,
  )
  await writer.run(`DELETE FROM ${PEOPLE} WHERE (workspace_id, user_id) IN (FROM touched_people)`)
  await writer.run(`INSERT INTO ${PEOPLE} BY NAME FROM next_people`)
  return different !== undefined
}

/** Searches all conversations for people of whom no other changed conversation has a text that is as new. */
async function findDoubtful(writer: Writer): Promise<void> {
  if ((await created(writer, 'doubtful_people', sqlFile('refresh/doubtful_people'))) === 0) return
  await writer.run('SET VARIABLE people = (SELECT list(user_id) FROM doubtful_people)')
  await defineMacros(writer)
  await writer.run(`INSERT INTO found_people BY NAME ${sqlFile(PEOPLE_SELECT)}`)
}
