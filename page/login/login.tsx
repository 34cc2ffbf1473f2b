/** The page to log in. */
import { useState } from 'preact/hooks'
import { Note } from '../parts/note.tsx'
import { words } from '../words/words.ts'
import { Frame } from './frame.tsx'
import { LoginForm } from './login-form.tsx'
import { takeNotice } from './notice.ts'

export function Login() {
  const [done] = useState(takeNotice)
  return (
    <Frame title={words.login.title}>
      {done !== undefined && <Note tone="ok">{done}</Note>}
      <LoginForm />
    </Frame>
  )
}
