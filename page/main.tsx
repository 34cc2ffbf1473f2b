/** The start of the page. */
import './link-token.ts'
import { render } from 'preact'
import { App } from './app.tsx'
import { joinSession } from './session/session.ts'
import { applyTheme } from './theme.ts'
import { loadWords } from './words/words.ts'

applyTheme()
await Promise.all([loadWords(), joinSession()])
render(<App />, document.getElementById('page') as HTMLElement)
