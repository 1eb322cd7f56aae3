// The dashboard: navigation, filters and the page that the address names. It uses the public routes of `serve` only.
import { render } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Scope } from '../access/tokens.ts'
import { isSignedOut } from './api/client.ts'
import { followSnapshot } from './api/live.ts'
import { useListedMetrics } from './api/metrics.ts'
import { type Page, useOrganizations, usePages, useSession } from './api/pages.ts'
import { DeclaredPage } from './pages/declared-page.tsx'
import { ContextLine } from './parts/context-line.tsx'
import { FilterBar } from './parts/filter-bar.tsx'
import { Keys } from './parts/keys.tsx'
import { lazy } from './parts/lazy.tsx'
import { Navigation } from './parts/navigation.tsx'
import { SignIn } from './parts/sign-in.tsx'
import { Answered, Empty, Failed, Guarded } from './parts/states.tsx'
import { chosen } from './state/filters.ts'
import { addressOf, followLinks, path, query } from './state/location.ts'

/** Pages that are no YAML. `scope`: all need it; `isFiltered`: they follow period and filters. */
interface BuiltPage {
  title: string
  about: string
  icon: string
  scope?: Scope
  isFiltered: boolean
  Shown: (props: { rest: string }) => preact.JSX.Element
}

const BUILT: Readonly<Record<string, BuiltPage>> = {
  conversations: {
    title: 'Conversations',
    about: 'What was said, and how did it end?',
    icon: 'chat',
    isFiltered: true,
    Shown: lazy(async () => (await import('./pages/conversations.tsx')).Conversations),
  },
  explore: {
    title: 'Explore',
    about: 'What do the tables say? One SELECT in DuckDB’s SQL, over the published snapshot.',
    icon: 'code',
    scope: 'sql',
    isFiltered: false,
    Shown: lazy(async () => (await import('./pages/explore.tsx')).Explore),
  },
  pipeline: {
    title: 'Pipeline',
    about: 'Is everything exported and current, and what needs an operator?',
    icon: 'pulse',
    scope: 'health',
    isFiltered: false,
    Shown: lazy(async () => (await import('./pages/pipeline.tsx')).PipelinePage),
  },
}

const isAllowed = ({ scope }: BuiltPage, scopes: readonly Scope[]) => !scope || scopes.includes(scope)

function Head({ title, about, isFiltered }: { title: string; about: string; isFiltered: boolean }) {
  useEffect(() => {
    document.title = `${title} · convohouse`
  }, [title])
  return (
    <header class="head row between">
      <div>
        <h1>{title}</h1>
        <p class="muted">{about}</p>
      </div>
      {isFiltered && <FilterBar />}
      <ContextLine withPeriod={isFiltered} />
    </header>
  )
}

interface ContentProps {
  pages: readonly Page[]
  name: string
  rest: string
  problems: readonly string[]
  scopes: readonly Scope[]
}

function Content({ pages, name, rest, problems, scopes }: ContentProps) {
  const metrics = useListedMetrics()
  const organizations = useOrganizations()
  const built = Object.hasOwn(BUILT, name) ? BUILT[name] : undefined
  const page = pages.find(one => one.name === name)
  // Until it is known which agents an organization has, every figure of it would be 0.
  const of = (shown: () => preact.JSX.Element) =>
    chosen.value.organization ? (
      <Answered answer={organizations} height={400}>
        {shown}
      </Answered>
    ) : (
      shown()
    )
  if (built && !page)
    return (
      <>
        <Head {...built} isFiltered={built.isFiltered && rest === '' && !query.value.has('behind')} />
        {isAllowed(built, scopes) ? (
          of(() => <built.Shown rest={rest} />)
        ) : (
          <Empty>This page needs a token with the scope `{built.scope}`.</Empty>
        )}
      </>
    )
  if (!page)
    return (
      <Empty>
        There is no page “{name}”. <a href={addressOf('')}>To the first page</a>
      </Empty>
    )
  return (
    <>
      <Head title={page.title} about={page.about} isFiltered />
      {problems.map(problem => (
        <p class="note doubt" key={problem}>
          {problem}
        </p>
      ))}
      <Answered answer={metrics} height={400}>
        {found => of(() => <DeclaredPage page={page} metrics={found} />)}
      </Answered>
    </>
  )
}

function Dashboard() {
  const session = useSession()
  const answer = usePages()
  if (isSignedOut.value) return <SignIn />
  if (answer.problem && !answer.data) return <Failed problem={answer.problem} again={answer.again} />
  if (!answer.data || !session.data) return null
  const { pages, problems } = answer.data
  const { scopes } = session.data
  const built = Object.entries(BUILT).filter(([, page]) => isAllowed(page, scopes))
  const entries = [...pages, ...built.map(([name, { title, icon }]) => ({ name, title, icon }))]
  const first = entries[0]!.name
  const [asked = '', ...rest] = path.value.split('/')
  const name = asked || first
  return (
    <>
      <a class="skip" href="#content">
        To the content
      </a>
      <Navigation entries={entries} current={name} first={first} />
      <main id="content" tabIndex={-1}>
        <Guarded key={name}>
          <Content {...{ pages, name, problems, scopes }} rest={rest.join('/')} />
        </Guarded>
      </main>
      <Keys entries={entries} first={first} />
    </>
  )
}

followLinks()
followSnapshot()
render(<Dashboard />, document.getElementById('app')!)
