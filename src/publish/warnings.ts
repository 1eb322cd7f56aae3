// What people should know beside the result of a publication: models that could not be built, and checks that cannot run or hold back a table.
import { publishedTableOf } from '../warehouse/checks/declaration.ts'
import { storedResults } from '../warehouse/checks/results.ts'
import type { Writer } from '../warehouse/connection.ts'
import { wrongModels } from '../warehouse/models/stored-models.ts'

/** `areModelsRead`: false if the folder of models could not be read. `held`: tables that the target lacks because a check fails. */
export async function publicationWarnings(
  { rows }: Pick<Writer, 'rows'>,
  { areModelsRead, held }: { areModelsRead: boolean; held: readonly string[] },
): Promise<string[]> {
  // Without the folder, what is stored is of an earlier attempt.
  const models = areModelsRead ? (await wrongModels({ rows })).map(({ name }) => name) : []
  const checks = (await storedResults({ rows })).flatMap(({ name, table, outcome, blocks }) => {
    // A full run also forgets the checks that are no more.
    if (outcome === 'broken') return [`the check ${name} cannot run: \`convohouse check\` shows why`]
    const record = publishedTableOf(table)?.table ?? table
    if (outcome !== 'failed' || !blocks || !held.includes(record)) return []
    return [`the check ${name} fails and holds back ${record}: \`convohouse check ${name}\` shows why`]
  })
  return [
    ...(areModelsRead
      ? []
      : ['the folder of models cannot be read, and the models keep their rows: `convohouse doctor` shows why']),
    ...(models.length === 0
      ? []
      : [
          `${models.length === 1 ? 'the model' : 'the models'} ${models.join(', ')} could not be built: \`convohouse status\` shows why`,
        ]),
    ...checks,
  ]
}
