import { Command, Option } from 'commander'
import { DAY, SECOND } from '../../core/time.ts'
import { addConfigFlag } from '../flags/sync-flags.ts'
import { duration, filled, oneOf, whole } from '../flags/values.ts'
import type { Format } from '../output/format.ts'
import type { QueryFlags } from '../query/run-query.ts'

const FORMATS = ['table', 'csv', 'json', 'ndjson', 'parquet', 'arrow'] as const satisfies readonly Format[]

/** A timer of Node's that is set further ahead goes off at once. */
const LONGEST_TIMEOUT_MS = 24 * DAY

/** `-- a comment`, at the begin of SQL: no flag holds white space or more than one line. */
const COMMENT_FIRST = /^--(?:\s|[^\n=]*\n)/

/** SQL that begins with a comment, so that it is not taken for a flag: with a space before it, which moves no line. */
export const unlikeFlag = (argument: string): string => (COMMENT_FIRST.test(argument) ? ` ${argument}` : argument)

export const queryCommand = (): Command =>
  addConfigFlag(new Command('query').description('answer one SELECT; works while a sync runs'))
    .argument('[sql]', 'one SELECT (or WITH, FROM, DESCRIBE, SHOW TABLES, EXPLAIN); - or nothing reads standard input')
    .option('-f, --file <file>', 'read the SQL from a file', filled('--file'))
    .option(
      '--format <format>',
      `${FORMATS.join(', ')} (default: a table on a terminal, else csv)`,
      oneOf('--format', FORMATS),
    )
    .option('-o, --output <file>', 'write to a file; its ending tells the format', filled('--output'))
    .addOption(
      new Option('--timeout <duration>', 'stop after so long')
        .argParser(duration('--timeout', { min: SECOND / 10, max: LONGEST_TIMEOUT_MS }))
        .default(60 * SECOND, '60s'),
    )
    .option('--max-rows <n>', 'give at most so many rows', whole('--max-rows', 1))
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse query "SHOW TABLES"
  $ convohouse query "SELECT channel, count(*) AS n FROM conversations GROUP BY ALL ORDER BY n DESC"
  $ convohouse query "FROM conversations" -o conversations.parquet
  $ convohouse query "FROM conversations_by_day" -o days.arrow
  $ convohouse query --file report.sql --format csv > report.csv
  $ echo "SELECT 42 AS answer" | convohouse query --format json

Times of the warehouse are UTC, and end in Z; times that the SQL makes of them have no zone.`,
    )
    .action(async (sql: string | undefined, flags: QueryFlags) => {
      const { runQueryCommand } = await import('../query/run-query.ts')
      await runQueryCommand(sql, flags)
    })
