// What a run does about requests for resources that fail: a failing id or endpoint must not keep the others from being requested, and a vendor
// that is down must not be asked for everything. Nothing is remembered: the next sync makes these requests again.
//
//   an id is refused, or its answer is not as documented    the next request
//   three failures of one resource in a row, or no answer   no more requests for this resource
//   two resources without an answer in a row                no more requests
//   401, 429, an interruption                               no more requests
import type { Failure } from '../../../workflows/steps.ts'
import type { DeclaredResource } from '../../catalog/resources/resources.ts'
import type { VendorError } from '../../client/faults.ts'
import type { ErrorCode } from '../../core/errors.ts'
import { failureOf } from '../export/fetch.ts'

/** A run stops requesting a resource after so many failures in a row. */
const MAX_FAILURES = 3

const ENDS_ALL: readonly ErrorCode[] = ['INTERRUPTED', 'API_UNAUTHORIZED', 'API_RATE_LIMITED']

export class FailedRequests {
  /** The first failure that the user should know. */
  first: Failure | null = null
  /** True where the run makes no more requests. */
  isOver = false
  private readonly inARow = new Map<string, number>()
  private isUnanswered = false

  /** True where the run makes no more requests for this resource. */
  isGivenUp({ stream }: DeclaredResource): boolean {
    return (this.inARow.get(stream) ?? 0) >= MAX_FAILURES
  }

  succeeded({ stream }: DeclaredResource): void {
    this.inARow.delete(stream)
    this.isUnanswered = false
  }

  failed(resource: DeclaredResource, error: VendorError): void {
    const { code, facts } = error
    this.isOver = ENDS_ALL.includes(code)
    if (code !== 'INTERRUPTED' && code !== 'API_BAD_REQUEST') this.first ??= failureOf(error)
    if (this.isOver) return
    const isUnanswered = facts.status === undefined || code === 'API_TIMEOUT'
    this.isOver = isUnanswered && this.isUnanswered
    this.isUnanswered = isUnanswered
    if (concernsOneId(resource, error)) return
    const { stream } = resource
    this.inARow.set(stream, isUnanswered ? MAX_FAILURES : (this.inARow.get(stream) ?? 0) + 1)
  }
}

/**
 * True for a refusal of this id alone. A 404 without the vendor's error body concerns all ids: the endpoint may be missing. A 403 concerns one
 * where ids come from other records: they may belong to another workspace.
 */
const concernsOneId = (resource: DeclaredResource, error: VendorError): boolean =>
  (['API_BAD_REQUEST', 'API_PROTOCOL'].includes(error.code) && error.facts.status !== 404) ||
  (error.code === 'API_FORBIDDEN' && resource.ids !== undefined)
