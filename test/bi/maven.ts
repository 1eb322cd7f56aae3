// Libraries for Java, from Maven Central.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

const DEPENDENCY = 'org.apache.maven.plugins:maven-dependency-plugin:3.9.0'

const maven = (folder: string, ...words: string[]) => run('mvn', ['--batch-mode', '--quiet', ...words], { cwd: folder })

/** Copies artifacts (`group:artifact:version`) into the folder, without what they depend on. @throws if there is no Maven */
export async function copyArtifacts(folder: string, artifacts: readonly string[]): Promise<void> {
  for (const artifact of artifacts)
    await maven(folder, `${DEPENDENCY}:copy`, `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`)
}

/** Unpacks an artifact (`group:artifact:version:type`), a zip or tar.gz, into the folder. @throws if there is no Maven */
export const unpackArtifact = (folder: string, artifact: string) =>
  maven(folder, `${DEPENDENCY}:unpack`, `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`)
