/** How the page looks: light, dark, or as the system does. */
import { useState } from 'preact/hooks'
import { Pick } from '../parts/pick.tsx'
import { chooseTheme, type Theme, theme } from '../theme.ts'
import { words } from '../words/words.ts'

export function Appearance() {
  const [chosen, setChosen] = useState(theme)
  const { appearance } = words
  return (
    <div class="card pad">
      <div class="narrow">
        <Pick
          name="theme"
          label={appearance.title}
          value={chosen}
          options={(['system', 'light', 'dark'] as const).map((value) => ({ value, label: appearance[value] }))}
          onChange={(value) => {
            chooseTheme(value as Theme)
            setChosen(value as Theme)
          }}
        />
      </div>
    </div>
  )
}
