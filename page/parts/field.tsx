/** One field of a form: its label, its hint, its mistake. */
import type { ComponentChildren, InputHTMLAttributes } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'
import { words } from '../words/words.ts'
import { Mistake, useFormState } from './form.tsx'
import { Icon } from './icon.tsx'

type Props = Omit<InputHTMLAttributes<HTMLInputElement>, 'name' | 'id'> & {
  name: string
  label: ComponentChildren
  hint?: ComponentChildren
  /** Beside the label. */
  aside?: ComponentChildren
}

/** What connects a control with its hint and its mistake. */
export function useDescribed(name: string, hint: ComponentChildren) {
  const id = useId()
  const isWrong = useFormState().mistakes.has(name)
  const describedBy = [hint ? `${id}-hint` : '', isWrong ? `${id}-mistake` : ''].join(' ').trim()
  return {
    id,
    control: { id, name, 'aria-invalid': isWrong, ...(describedBy && { 'aria-describedby': describedBy }) },
  }
}

/** The browser heeds `autofocus` once in a document, not in each view. */
function useAutofocus(id: string, isWanted: unknown): void {
  useEffect(() => {
    if (isWanted) document.getElementById(id)?.focus()
  }, [id, isWanted])
}

export function Field({ name, label, hint, aside, autofocus, ...input }: Props) {
  const { id, control } = useDescribed(name, hint)
  useAutofocus(id, autofocus)
  return (
    <div class="field">
      <div class="label-line">
        <label class="label" for={id}>
          {label}
        </label>
        {aside}
      </div>
      <input class="input" autocapitalize="off" spellcheck={false} {...input} {...control} />
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <Mistake id={`${id}-mistake`} name={name} />
    </div>
  )
}

/** A password, which can be shown. */
export function PasswordField({ name, label, hint, aside, autofocus, ...input }: Props) {
  const { id, control } = useDescribed(name, hint)
  useAutofocus(id, autofocus)
  const [isShown, setShown] = useState(false)
  return (
    <div class="field">
      <div class="label-line">
        <label class="label" for={id}>
          {label}
        </label>
        {aside}
      </div>
      <div class="with-button">
        <input class="input" type={isShown ? 'text' : 'password'} spellcheck={false} {...input} {...control} />
        <button
          type="button"
          class="btn ghost"
          aria-pressed={isShown}
          aria-label={isShown ? words.common.hidePassword : words.common.showPassword}
          onClick={() => setShown(!isShown)}
        >
          <Icon name="eye" />
        </button>
      </div>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <Mistake id={`${id}-mistake`} name={name} />
    </div>
  )
}

/** A code of the second factor, asked for once the API wants it. */
export function CodeField() {
  const { login } = words
  const { id, control } = useDescribed('totp_code', login.codeHint)
  useAutofocus(id, true)
  return (
    <div class="field">
      <label class="label" for={id}>
        {login.code}
      </label>
      <input
        class="input code"
        autocomplete="one-time-code"
        autocapitalize="off"
        spellcheck={false}
        required
        {...control}
      />
      <p class="hint" id={`${id}-hint`}>
        {login.codeHint}
      </p>
      <Mistake id={`${id}-mistake`} name="totp_code" />
    </div>
  )
}
