// The parts of the package that the tests use.
declare module '@seriousme/openapi-schema-validator' {
  export class Validator {
    /** '3.1' after a document of this version was validated. */
    readonly version: string
    validate(document: object): Promise<{ valid: boolean; errors?: unknown }>
  }
}
