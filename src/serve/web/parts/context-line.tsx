// What limits trust stands here once, in words: as-of, time zone, what is not exported.
import { useEffect, useState } from 'preact/hooks'
import { asOf, isOffline } from '../api/client.ts'
import { totalOf, useListedMetrics, useMetrics } from '../api/metrics.ts'
import { useSession } from '../api/pages.ts'
import { ageText, dayRange, timeText } from '../format/dates.ts'
import { filtersFor } from '../state/filters.ts'
import { query } from '../state/location.ts'
import { period } from '../state/period.ts'

const MINUTE_MS = 60_000
/** Age in seconds from which the data is called old. */
const OLD = 86_400

/** Returns the age of the data, which grows while the page is open. */
function useAge(iso: string | null): number | null {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), MINUTE_MS)
    return () => clearInterval(timer)
  }, [])
  return iso === null ? null : Math.max(0, (Math.max(now, Date.now()) - Date.parse(iso)) / 1_000)
}

export function ContextLine({ withPeriod }: { withPeriod: boolean }) {
  const at = asOf.value
  const age = useAge(at)
  const zones = useSession().data?.timeZones ?? []
  const metric = useListedMetrics().data?.get('conversations')
  const { filters } = filtersFor([metric])
  const asked = { metrics: ['conversations'], period: period.value, filters }
  const answer = useMetrics(withPeriod && metric ? asked : null).data?.[0]
  return (
    <div class="context note">
      <p>
        {isOffline.value && <b class="doubt">No connection: what you see is from before. </b>}
        {withPeriod && answer && <span>{dayRange(answer.period)}</span>}
        {zones.length > 0 && (
          <span>{zones.length === 1 ? zones[0] : `days of each workspace’s own time zone (${zones.join(', ')})`}</span>
        )}
        {at && age !== null && (
          <span class={age > OLD ? 'doubt' : undefined} title={timeText(at)} aria-live="polite">
            data as of {age < 90 ? 'just now' : `${ageText(age)} ago`}
          </span>
        )}
        {withPeriod && (
          <span>
            {query.value.get('tests') === 'yes'
              ? 'figures leave out test conversations'
              : 'test conversations left out'}
          </span>
        )}
      </p>
      {answer && !totalOf(answer).isCovered && (
        <p class="doubt" role="status">
          Not everything of this period was exported: counts are too low, and nothing is compared. Pipeline shows what
          is missing.
        </p>
      )}
    </div>
  )
}
