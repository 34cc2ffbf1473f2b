/** The frame of every page after a login: navigation, who is logged in, the way out. */
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { useIsAdmin, useMe } from '../api/me.ts'
import { base } from '../base.ts'
import { Brand } from '../parts/brand.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Icon, type IconName } from '../parts/icon.tsx'
import { LanguageChoice } from '../parts/language.tsx'
import { Note } from '../parts/note.tsx'
import { logOut } from '../session/log-out.ts'
import { SessionEnd } from '../session/session-end.tsx'
import { words } from '../words/words.ts'
import { SubscriptionChoice } from './subscription.tsx'

type Entry = { href: string; icon: IconName; label: string }

const entries = (): Entry[] => [
  { href: '/sites', icon: 'sites', label: words.shell.sites },
  { href: '/keys', icon: 'keys', label: words.keys.title },
  { href: '/account', icon: 'account', label: words.account.title },
]

const administration = (): Entry[] => [
  { href: '/admin/users', icon: 'users', label: words.users.title },
  { href: '/admin/subscriptions', icon: 'subscriptions', label: words.subscriptions.title },
  { href: '/admin/nodes', icon: 'node', label: words.nodes.title },
  { href: '/admin/audit-log', icon: 'log', label: words.auditLog.title },
  { href: '/admin/settings', icon: 'settings', label: words.settings.title },
]

function Administration() {
  if (!useIsAdmin()) return null
  return (
    <nav class="nav wide" aria-label={words.shell.administration}>
      <h2 class="small">{words.shell.administration}</h2>
      {administration().map((entry) => (
        <NavLink key={entry.href} {...entry} />
      ))}
    </nav>
  )
}

function NavLink({ href, icon, label }: Entry) {
  const [path] = useLocation()
  const isCurrent = path === href || path.startsWith(`${href}/`) || (path === '/' && href === '/sites')
  return (
    <Link href={href} {...(isCurrent && { 'aria-current': 'page' as const })}>
      <Icon name={icon} />
      {label}
    </Link>
  )
}

function Who() {
  const user = useMe().data?.user
  if (!user) return null
  return (
    <span class="who small">
      <strong>{user.name}</strong>
      <span class="mute">{user.email}</span>
    </span>
  )
}

function LogOut() {
  return (
    <button type="button" class="btn" onClick={logOut}>
      <Icon name="logOut" />
      {words.shell.logOut}
    </button>
  )
}

/** On a phone, what the bar has no room for. */
function Menu({ onClose }: { onClose(): void }) {
  return (
    <Dialog title={words.shell.menu} onClose={onClose}>
      <div class="stack">
        <Who />
        <SubscriptionChoice />
        <Administration />
        <a href={`${base}/api/docs`}>{words.shell.apiReference}</a>
        <LanguageChoice />
        <LogOut />
      </div>
    </Dialog>
  )
}

function useIsOffline(): boolean {
  const [isOffline, setOffline] = useState(!navigator.onLine)
  useEffect(() => {
    const update = () => setOffline(!navigator.onLine)
    addEventListener('online', update)
    addEventListener('offline', update)
    return () => {
      removeEventListener('online', update)
      removeEventListener('offline', update)
    }
  }, [])
  return isOffline
}

export function Shell({ children }: { children: ComponentChildren }) {
  const [isMenuOpen, setMenuOpen] = useState(false)
  const isOffline = useIsOffline()
  const [path] = useLocation()
  useEffect(() => setMenuOpen(false), [path])
  return (
    <div class="shell">
      <a class="skip" href="#main">
        {words.common.skip}
      </a>
      <header class="side">
        <Brand />
        <SubscriptionChoice />
        <nav class="nav" aria-label={words.shell.main}>
          {entries().map((entry) => (
            <NavLink key={entry.href} {...entry} />
          ))}
          <button type="button" class="only-phone" aria-haspopup="dialog" onClick={() => setMenuOpen(true)}>
            <Icon name="menu" />
            {words.shell.menu}
          </button>
        </nav>
        <Administration />
        <div class="foot">
          <Who />
          <LogOut />
          <LanguageChoice />
          <a class="small" href={`${base}/api/docs`}>
            {words.shell.apiReference}
          </a>
        </div>
      </header>
      <main class="main" id="main" tabIndex={-1}>
        {isOffline && <Note tone="warn" title={words.common.offline} />}
        <SessionEnd />
        {children}
      </main>
      {isMenuOpen && <Menu onClose={() => setMenuOpen(false)} />}
    </div>
  )
}
