import { type Command, Option } from 'commander'
import { DAY, SECOND } from '../../core/time.ts'
import { addConfigFlag } from '../flags/sync-flags.ts'
import { duration, filled, oneOf, whole } from '../flags/values.ts'
import type { Format } from '../output/write.ts'
import type { QueryFlags } from './query.ts'

const FORMATS = ['table', 'csv', 'json', 'ndjson', 'parquet', 'arrow'] as const satisfies readonly Format[]

/** Node's timers fire at once if their delay exceeds 2^31 ms (24.8 days). */
const LONGEST_TIMEOUT_MS = 24 * DAY

/** SQL that begins with a comment (`-- why`). Flags contain neither white space nor line breaks. */
const COMMENT_FIRST = /^--(?:\s|[^\n=]*\n)/

/** Puts a space before SQL that begins with a comment, so that commander does not parse it as a flag. Line numbers stay the same. */
export const protectSqlComment = (argument: string): string =>
  COMMENT_FIRST.test(argument) ? ` ${argument}` : argument

export const define = (command: Command): Command =>
  addConfigFlag(command)
    .argument(
      '[sql]',
      'one SELECT (or WITH, FROM, DESCRIBE, SHOW TABLES, EXPLAIN); without it, or with -, SQL is read from standard input',
    )
    .option('-f, --file <file>', 'read the SQL from a file', filled('--file'))
    .option(
      '--format <format>',
      `${FORMATS.join(', ')} (default: a table on a terminal, else csv)`,
      oneOf('--format', FORMATS),
    )
    .option('-o, --output <file>', 'write to a file; its extension selects the format', filled('--output'))
    .addOption(
      new Option('--timeout <duration>', 'stop after this time')
        .argParser(duration('--timeout', { min: SECOND / 10, max: LONGEST_TIMEOUT_MS }))
        .default(60 * SECOND, '60s'),
    )
    .option('--max-rows <n>', 'return at most this many rows', whole('--max-rows', 1))
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse query "SHOW TABLES"                      all tables and views but the marts and models
  $ convohouse query "FROM marts.conversations_daily"
  $ convohouse query "SELECT channel, count(*) AS n FROM conversations GROUP BY ALL ORDER BY n DESC"
  $ convohouse query "FROM conversations" -o conversations.parquet
  $ convohouse query "FROM conversations_by_day" -o days.arrow
  $ convohouse query --file report.sql --format csv > report.csv
  $ echo "SELECT 42 AS answer" | convohouse query --format json

Stored times are UTC and end in Z. Times that the SQL computes from them have no time zone.`,
    )
    .action(async (sql: string | undefined, flags: QueryFlags) => {
      const { runQueryCommand } = await import('./query.ts')
      await runQueryCommand(sql, flags)
    })
