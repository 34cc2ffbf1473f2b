/** The session of this tab: a JWT in memory and in `sessionStorage`, shared with new tabs, ended in all of them. */
import { base } from '../base.ts'
import { observed } from '../observed.ts'

export type Session = {
  token: string
  userId: number
  email: string
  /** Milliseconds since the epoch. */
  expiresAt: number
}

type Message = { kind: 'asked' } | { kind: 'shared'; session: Session } | { kind: 'ended'; userId: number }

const KEY = 'ncp.session'
/** Tabs answer within a few milliseconds; a lone tab should not wait noticeably. */
const SHARE_MS = 150

const channel = new BroadcastChannel(`ncp${base}`)
const tell = (message: Message) => channel.postMessage(message)

export const session = observed<Session | undefined>(stored())

function stored(): Session | undefined {
  const text = sessionStorage.getItem(KEY)
  if (text === null) return undefined
  try {
    return JSON.parse(text) as Session
  } catch {
    return undefined
  }
}

function keep(next: Session | undefined): void {
  if (next) sessionStorage.setItem(KEY, JSON.stringify(next))
  else sessionStorage.removeItem(KEY)
  session.set(next)
}

/** Begins a session with the JWT of a login. */
export function beginSession(token: string, email: string): void {
  const [, payload = ''] = token.split('.')
  const { sub, exp } = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/')))
  keep({ token, email, userId: Number(sub), expiresAt: exp * 1000 })
}

/** Ends the session here and in every other tab of this user. */
export function endSession(): void {
  const ended = session.get()
  keep(undefined)
  if (ended) tell({ kind: 'ended', userId: ended.userId })
}

/** Takes over the session of another tab, if this one is new and there is one. */
export async function joinSession(): Promise<void> {
  if (session.get()) return
  tell({ kind: 'asked' })
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, SHARE_MS)
    const stop = session.subscribe(() => {
      clearTimeout(timer)
      stop()
      resolve()
    })
  })
}

channel.onmessage = ({ data }: MessageEvent<Message>) => {
  const own = session.get()
  if (data.kind === 'asked' && own && own.expiresAt > Date.now()) tell({ kind: 'shared', session: own })
  if (data.kind === 'shared' && !own) keep(data.session)
  if (data.kind === 'ended' && own?.userId === data.userId) keep(undefined)
}
