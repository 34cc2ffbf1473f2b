/** The frame of everything before a login: one card in the middle. */
import type { ComponentChildren } from 'preact'
import { Brand } from '../parts/brand.tsx'
import { LanguageChoice } from '../parts/language.tsx'
import { useTitle } from '../parts/title.ts'

type Props = { title: string; hint?: ComponentChildren; children: ComponentChildren }

export function Frame({ title, hint, children }: Props) {
  useTitle(title)
  return (
    <main class="center">
      <div class="center-column">
        <Brand />
        <div class="card login stack">
          <div>
            <h1>{title}</h1>
            <p class="mute small">{hint ?? location.hostname}</p>
          </div>
          {children}
        </div>
        <LanguageChoice />
      </div>
    </main>
  )
}
