/** Offers the page in its other languages. */
import { chooseLanguage, LANGUAGES, type Language, language, words } from '../words/words.ts'

export function LanguageChoice() {
  return (
    <nav class="languages small mute" aria-label={words.common.language}>
      {(Object.keys(LANGUAGES) as Language[]).map((code) => (
        <button
          type="button"
          class="linklike"
          lang={code}
          key={code}
          aria-pressed={code === language}
          onClick={() => chooseLanguage(code)}
        >
          {LANGUAGES[code]}
        </button>
      ))}
    </nav>
  )
}
