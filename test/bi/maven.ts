// Libraries for Java, from Maven Central.
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
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

const partsOf = (artifact: string) => {
  const [group, name, version] = artifact.split(':')
  return `<groupId>${group}</groupId><artifactId>${name}</artifactId>${version ? `<version>${version}</version>` : ''}`
}

/** Copies artifacts with all that they need at run time into the folder `lib` below; `without`: `group:artifact`. @throws if there is no Maven */
export async function copyWithDependencies(
  folder: string,
  artifacts: readonly string[],
  without: readonly string[] = [],
): Promise<void> {
  const excluded = without.map(artifact => `<exclusion>${partsOf(artifact)}</exclusion>`).join('')
  const dependencies = artifacts.map(
    artifact => `<dependency>${partsOf(artifact)}<exclusions>${excluded}</exclusions></dependency>`,
  )
  const project = `<project><modelVersion>4.0.0</modelVersion>${partsOf('test:test:1')}<dependencies>${dependencies.join('')}</dependencies></project>`
  await writeFile(join(folder, 'pom.xml'), project)
  const words = ['-DincludeScope=runtime', `-DoutputDirectory=${join(folder, 'lib')}`]
  await maven(folder, `${DEPENDENCY}:copy-dependencies`, ...words)
}
