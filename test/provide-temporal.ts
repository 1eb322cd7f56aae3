// `npm run temporal-cli`: downloads the Temporal CLI as the tests do, and prints its path.
import { obtainTemporal } from './temporal-cli.ts'

try {
  process.stdout.write(`${await obtainTemporal(line => process.stderr.write(`${line}\n`))}\n`)
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exitCode = 1
}
