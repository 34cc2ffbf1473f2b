/** Which view belongs to which path. */
import { QueryClientProvider } from '@tanstack/preact-query'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { Redirect, Route, Router, Switch, useLocation } from 'wouter-preact'
import { useMe } from './api/me.ts'
import { isProblem } from './api/problem.ts'
import { queryClient } from './api/queries.ts'
import { base } from './base.ts'
import { ConfirmEmail } from './login/confirm-email.tsx'
import { Forgot } from './login/forgot.tsx'
import { Login } from './login/login.tsx'
import { ResetPassword } from './login/reset-password.tsx'
import { useObserved } from './observed.ts'
import { Empty } from './parts/empty.tsx'
import { later } from './parts/later.tsx'
import { session } from './session/session.ts'
import { Shell } from './shell/shell.tsx'
import { Sites } from './sites/sites.tsx'
import { words } from './words/words.ts'

const Keys = later(async () => (await import('./account/account-views.ts')).Keys)
const Account = later(async () => (await import('./account/account-views.ts')).Account)
const EnrolmentRequired = later(async () => (await import('./account/account-views.ts')).EnrolmentRequired)
const Users = later(async () => (await import('./admin/admin-views.ts')).Users)
const User = later(async () => (await import('./admin/admin-views.ts')).User)
const Subscriptions = later(async () => (await import('./admin/admin-views.ts')).Subscriptions)
const Settings = later(async () => (await import('./admin/admin-views.ts')).Settings)
const AuditLog = later(async () => (await import('./admin/admin-views.ts')).AuditLog)
const Nodes = later(async () => (await import('./admin/admin-views.ts')).Nodes)
const NewSite = later(async () => (await import('./sites/site-views.ts')).NewSite)
const Site = later(async () => (await import('./sites/site-views.ts')).Site)

export function App() {
  return (
    <QueryClientProvider client={queryClient}>
      <Router base={base}>
        <Switch>
          <Route path="/forgot" component={Forgot} />
          <Route path="/reset-password">
            <ResetPassword />
          </Route>
          <Route path="/activate">
            <ResetPassword isActivation />
          </Route>
          <Route path="/confirm-email" component={ConfirmEmail} />
          <Route>
            <Private>
              <Switch>
                <Route path="/login">
                  <Redirect to="/sites" replace />
                </Route>
                <Route path="/change-password">
                  <Redirect to="/account" replace />
                </Route>
                <Route path="/keys">
                  <Keys />
                </Route>
                <Route path="/account">
                  <Account />
                </Route>
                <Route path="/admin/users">
                  <Users />
                </Route>
                <Route path="/admin/users/:id">{({ id }) => <User key={id} id={Number(id)} />}</Route>
                <Route path="/admin/subscriptions">
                  <Subscriptions />
                </Route>
                <Route path="/admin/settings">
                  <Settings />
                </Route>
                <Route path="/admin/audit-log">
                  <AuditLog />
                </Route>
                <Route path="/admin/nodes">
                  <Nodes />
                </Route>
                <Route path="/" component={Sites} />
                <Route path="/sites" component={Sites} />
                <Route path="/sites/new">
                  <NewSite />
                </Route>
                <Route path="/sites/:id/:tab?">
                  {({ id, tab }) => <Site key={id} id={Number(id)} {...(tab !== undefined && { tab })} />}
                </Route>
                <Route>
                  <Empty title={words.common.notFound} level="h1">
                    <p>{words.common.notFoundHint}</p>
                  </Empty>
                </Route>
              </Switch>
            </Private>
          </Route>
        </Switch>
      </Router>
    </QueryClientProvider>
  )
}

/** What needs a login: without one, the form is shown in its place, and the address stays. */
function Private({ children }: { children: ComponentChildren }) {
  const current = useObserved(session)
  const { error } = useMe(current !== undefined)
  if (!current) return <Login />
  if (isProblem(error) && error.code === '2fa_enrolment_required') return <EnrolmentRequired />
  return (
    <Shell>
      <FocusOnNavigation />
      {children}
    </Shell>
  )
}

/** A new view begins at its top, for eyes and for the keyboard. */
function FocusOnNavigation() {
  const [path] = useLocation()
  useEffect(() => {
    // Where something of the view has taken the focus, as a form does, it stays there.
    if (document.activeElement === document.body) document.getElementById('main')?.focus({ preventScroll: true })
    scrollTo(0, 0)
  }, [path])
  return null
}
