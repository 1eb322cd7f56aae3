// Hadoop's file system for S3, which Spark reads through: the version that PySpark has the rest of.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Tool } from './installed.ts'
import { needed } from './lacking.ts'
import { copyWithDependencies } from './maven.ts'

export const HADOOP_AWS = 'org.apache.hadoop:hadoop-aws:3.4.2'

/** AWS's SDK in the version of `hadoop-aws`, which names a bundle of all its services, of 600 MB. */
export const AWS_SDK = '2.29.52'
const MODULES = ['s3', 's3-transfer-manager', 'sts'].map(name => `software.amazon.awssdk:${name}:${AWS_SDK}`)

export const HADOOP: Tool = {
  folder: 'bi-hadoop-aws-3.4.2',
  about: `Hadoop's file system for S3 (Maven Central's ${[HADOOP_AWS, ...MODULES].join(', ')})`,
  install: folder => copyWithDependencies(folder, [HADOOP_AWS, ...MODULES], ['software.amazon.awssdk:bundle']),
}

/** The files, as Spark's setting `spark.jars` names them. Skips the test if they are missing. */
export async function hadoopJars(): Promise<string> {
  const folder = join(needed(HADOOP), 'lib')
  return (await readdir(folder)).map(name => join(folder, name)).join(',')
}
