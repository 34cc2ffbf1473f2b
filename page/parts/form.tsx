/** A form that keeps what was typed, shows each mistake at its field, and waits where it has to. */
import { type ComponentChildren, createContext } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import { isProblem } from '../api/problem.ts'
import { words } from '../words/words.ts'
import { inWords, Trouble, useCountdown } from './trouble.tsx'

export type Values = Readonly<Record<string, string>>

type Shown = {
  /** By the name of a field. */
  mistakes: ReadonlyMap<string, string>
  isBusy: boolean
}

const Context = createContext<Shown>({ mistakes: new Map(), isBusy: false })
export const useFormState = () => useContext(Context)

export type FormProps = {
  /** Sends what was typed. What it throws is shown, and the form stays as it is. */
  onSubmit(values: Values): Promise<unknown>
  submit: ComponentChildren
  /** Of the button. */
  tone?: 'primary' | 'bad'
  /** Whether the button waits for something else. */
  isDisabled?: boolean
  onCancel?: (() => void) | undefined
  class?: string
  children: ComponentChildren
}

export function Form({
  onSubmit,
  submit,
  tone = 'primary',
  isDisabled = false,
  onCancel,
  children,
  ...rest
}: FormProps) {
  const form = useRef<HTMLFormElement>(null)
  const [isBusy, setBusy] = useState(false)
  const [thrown, setThrown] = useState<unknown>()
  const waitSeconds = useCountdown(thrown)
  const mistakes = shownMistakes(thrown, form.current)

  useEffect(() => {
    if (thrown !== undefined) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [thrown])

  async function send(event: SubmitEvent) {
    event.preventDefault()
    if (isBusy || waitSeconds > 0 || isDisabled || !form.current) return
    const values = Object.fromEntries([...new FormData(form.current)].map(([name, value]) => [name, `${value}`]))
    setBusy(true)
    try {
      await onSubmit(values)
      setThrown(undefined)
    } catch (error) {
      setThrown(error)
    } finally {
      setBusy(false)
    }
  }

  return (
    <form ref={form} class={`stack ${rest.class ?? ''}`} onSubmit={send} aria-busy={isBusy} noValidate>
      <Context.Provider value={{ mistakes, isBusy }}>
        {thrown !== undefined && mistakes.size === 0 && <Trouble thrown={thrown} waitSeconds={waitSeconds} />}
        {children}
        <div class="actions">
          <button type="submit" class={`btn ${tone}`} disabled={isBusy || waitSeconds > 0 || isDisabled}>
            {submit}
          </button>
          {onCancel && (
            <button type="button" class="btn" onClick={onCancel}>
              {words.common.cancel}
            </button>
          )}
        </div>
      </Context.Provider>
    </form>
  )
}

/** The mistakes at fields that the form has; none if any is of something else, so that all of it is told above. */
function shownMistakes(thrown: unknown, form: HTMLFormElement | null): ReadonlyMap<string, string> {
  if (!isProblem(thrown)) return new Map()
  const { fields } = thrown
  return [...fields.keys()].every((name) => form?.elements.namedItem(name)) ? fields : new Map()
}

/** The text of a mistake at a field, for `aria-describedby`. */
export function Mistake({ id, name }: { id: string; name: string }) {
  const message = useFormState().mistakes.get(name)
  return message === undefined ? null : (
    <p class="mistake" id={id}>
      {inWords(message)}
    </p>
  )
}
