/** A field of several lines. */
import type { ComponentChildren, TextareaHTMLAttributes } from 'preact'
import { useDescribed } from './field.tsx'
import { Mistake } from './form.tsx'

type Props = Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, 'name' | 'id'> & {
  name: string
  label: ComponentChildren
  hint?: ComponentChildren
}

export function TextArea({ name, label, hint, ...area }: Props) {
  const { id, control } = useDescribed(name, hint)
  return (
    <div class="field">
      <label class="label" for={id}>
        {label}
      </label>
      <textarea class="input" rows={3} spellcheck={false} autocapitalize="off" {...area} {...control} />
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <Mistake id={`${id}-mistake`} name={name} />
    </div>
  )
}

/** The entries of a field that has one in each line, or several with commas between them. */
export const entriesOf = (text: string | undefined): string[] =>
  (text ?? '').split(/[\s,]+/).filter((entry) => entry !== '')
