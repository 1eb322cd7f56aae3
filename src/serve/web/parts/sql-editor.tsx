// The SQL editor (CodeMirror). It lives in a shadow root: there CodeMirror uses constructed style sheets, which the page's policy allows.
import { acceptCompletion, type CompletionSource } from '@codemirror/autocomplete'
import { PostgreSQL, SQLDialect, type SQLNamespace, sql } from '@codemirror/lang-sql'
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { type Diagnostic, setDiagnostics } from '@codemirror/lint'
import { Compartment, Prec } from '@codemirror/state'
import { keymap } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { basicSetup, EditorView } from 'codemirror'
import { useEffect, useRef } from 'preact/hooks'
import type { DescribedTable } from '../api/pages.ts'
import type { Place } from '../state/sql-place.ts'

/** What changes the text from outside. The editor holds it, so that no older text overtakes what is typed. */
export interface Editor {
  /** Inserts text at the cursor. */
  insert(text: string): void
  replace(text: string): void
}

interface EditorProps {
  /** The first text. */
  text: string
  tables: readonly DescribedTable[] | null
  /** Where the last run failed. */
  place: Place | null
  onChange: (text: string) => void
  onRun: () => void
  onReady: (editor: Editor) => void
}

const DIALECT = SQLDialect.define({
  ...PostgreSQL.spec,
  keywords: `${PostgreSQL.spec.keywords} qualify asof pivot unpivot summarize describe semi anti positional exclude columns`,
  builtin: `${PostgreSQL.spec.builtin ?? ''} struct list map hugeint ubigint double varchar`,
})

const LOOK = EditorView.theme({
  '&': {
    color: 'var(--text)',
    backgroundColor: 'var(--surface)',
    fontSize: '14px',
    minHeight: '160px',
    maxHeight: '420px',
  },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-1px' },
  '.cm-scroller': { fontFamily: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace', minHeight: '160px' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--ground)', color: 'var(--muted)', border: '0' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in srgb, var(--accent) 7%, transparent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--accent-ground)',
  },
  '.cm-selectionMatch': { backgroundColor: 'var(--pale)' },
  '.cm-tooltip, .cm-panels': {
    backgroundColor: 'var(--raised)',
    color: 'var(--text)',
    border: '1px solid var(--line-strong)',
    borderRadius: '6px',
  },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--surface)' },
  '.cm-completionInfo': { maxWidth: '320px', padding: '8px', font: '12px / 16px system-ui, sans-serif' },
  '.cm-completionDetail': { fontStyle: 'normal', color: 'inherit', opacity: '.75' },
})

const COLOURS = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--accent)', fontWeight: '600' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--doubt)' },
  { tag: [tags.lineComment, tags.blockComment], color: 'var(--muted)', fontStyle: 'italic' },
  { tag: tags.typeName, color: 'var(--doubt)' },
])

const optionOf = ({ name, type, about }: DescribedTable['columns'][number]) => ({
  label: name,
  type: 'property',
  detail: type,
  ...(about && { info: about }),
})

/** Returns tables by schema, as the completion takes them. */
function namespaceOf(tables: readonly DescribedTable[]): SQLNamespace {
  const schemas: Record<string, Record<string, SQLNamespace>> = { '': {} }
  for (const { name, about, columns } of tables) {
    const [table, schema = ''] = name.split('.').reverse() as [string, string?]
    schemas[schema] ??= {}
    schemas[schema][table] = {
      self: { label: table, type: 'type', ...(about && { info: about }) },
      children: columns.map(optionOf),
    }
  }
  const { '': main, ...named } = schemas
  return { ...named, ...main }
}

/** Completes the columns of tables that the text names, without their table. */
const columnsNamed =
  (tables: readonly DescribedTable[]): CompletionSource =>
  context => {
    const word = context.matchBefore(/[\w]*/)
    if (!word || (word.from === word.to && !context.explicit)) return null
    if (context.state.sliceDoc(word.from - 1, word.from) === '.') return null
    const text = context.state.doc.toString()
    const named = tables.filter(({ name }) =>
      new RegExp(`(^|[\\s,(])${name.replace('.', '\\.')}([\\s,);]|$)`, 'i').test(text),
    )
    const options = new Map(named.flatMap(({ columns }) => columns.map(column => [column.name, optionOf(column)])))
    return options.size === 0 ? null : { from: word.from, options: [...options.values()], validFor: /^\w*$/ }
  }

const languageOf = (given: EditorProps['tables']) => {
  const tables = given ?? []
  const support = sql({ dialect: DIALECT, schema: namespaceOf(tables), upperCaseKeywords: true })
  return [support, support.language.data.of({ autocomplete: columnsNamed(tables) })]
}

export function SqlEditor(props: EditorProps) {
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(null)
  const language = useRef(new Compartment())
  const now = useRef(props)
  now.current = props

  useEffect(() => {
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: 'open' })
    const created = new EditorView({
      doc: props.text,
      root,
      parent: root as unknown as Element,
      extensions: [
        Prec.highest(
          keymap.of([
            {
              key: 'Mod-Enter',
              run: () => {
                now.current.onRun()
                return true
              },
            },
            // Without a list of completions, Tab leaves the editor.
            { key: 'Tab', run: acceptCompletion },
          ]),
        ),
        basicSetup,
        language.current.of(languageOf(props.tables)),
        LOOK,
        syntaxHighlighting(COLOURS),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': 'SQL', 'aria-describedby': 'keys' }),
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (docChanged) now.current.onChange(state.doc.toString())
        }),
      ],
    })
    // A description is found within the same root only.
    const keys = Object.assign(document.createElement('span'), { id: 'keys', hidden: true, textContent: KEYS })
    root.append(keys)
    view.current = created
    now.current.onReady({
      insert(text) {
        created.dispatch(created.state.replaceSelection(text))
        created.focus()
      },
      replace: text => created.dispatch({ changes: { from: 0, to: created.state.doc.length, insert: text } }),
    })
    return () => {
      created.destroy()
      keys.remove()
    }
  }, [])

  useEffect(() => {
    view.current?.dispatch({ effects: language.current.reconfigure(languageOf(props.tables)) })
  }, [props.tables])

  useEffect(() => {
    const editor = view.current!
    editor.dispatch(setDiagnostics(editor.state, diagnosticsOf(editor, props.place)))
  }, [props.place])

  return <div ref={host} class="sql-editor" />
}

const KEYS =
  'Ctrl+Enter or ⌘+Enter runs. Tab takes a completion; with none shown (Esc closes them), Tab leaves the editor.'

function diagnosticsOf({ state }: EditorView, place: EditorProps['place']): Diagnostic[] {
  if (!place || place.line > state.doc.lines) return []
  const line = state.doc.line(place.line)
  const from = Math.min(line.to, line.from + place.column)
  const to = state.wordAt(from)?.to ?? Math.min(line.to, from + 1)
  return [{ from: Math.min(from, to), to, severity: 'error', message: place.message }]
}
