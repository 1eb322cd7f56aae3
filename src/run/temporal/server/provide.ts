// `npm run temporal-cli`: gets the Temporal CLI where it is not there, and prints where it is. For CI, and for whoever wants to look.
import { provideTemporal } from './command.ts'

try {
  process.stdout.write(`${await provideTemporal({ tell: line => process.stderr.write(`${line}\n`) })}\n`)
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exitCode = 1
}
