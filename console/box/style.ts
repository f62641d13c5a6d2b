/** style is the style sheet of the box, which custom properties of the page change. */
export const style = `
:host { all: initial; color-scheme: light dark; }
:host([hidden]) { display: none; }
* { box-sizing: border-box; }
button, dialog, input {
  font: var(--ragd-font, 16px/1.5 system-ui, sans-serif);
}
.open {
  position: fixed; inset-block-end: var(--ragd-offset-y, 1.25rem); inset-inline-end: var(--ragd-offset-x, 1.25rem);
  z-index: var(--ragd-z-index, 2147483000);
  box-shadow: 0 2px 12px rgb(0 0 0 / 25%);
}
button {
  border: 1px solid transparent; border-radius: var(--ragd-radius, 0.5rem); padding: 0.5rem 1rem; cursor: pointer;
  background: var(--ragd-accent, #1c4f9c); color: var(--ragd-on-accent, #fff);
}
button.quiet { background: transparent; color: inherit; border-color: currentcolor; padding: 0.25rem 0.625rem; }
button:focus-visible, input:focus-visible, a:focus-visible, pre:focus-visible, .answers:focus-visible { outline: 3px solid var(--ragd-focus, #e08a00); outline-offset: 2px; }
dialog {
  width: min(40rem, calc(100vw - 2rem)); max-height: min(44rem, calc(100dvh - 2rem)); padding: 0; overflow: hidden;
  border: 1px solid var(--ragd-border, #8a8f98); border-radius: var(--ragd-radius, 0.5rem);
  background: var(--ragd-background, light-dark(#fff, #1b1d21)); color: var(--ragd-text, light-dark(#1a1c20, #eceef2));
}
dialog[open] { display: flex; flex-direction: column; animation: appear 0.15s ease-out; }
dialog::backdrop { background: rgb(0 0 0 / 45%); }
header { display: flex; justify-content: space-between; align-items: center; gap: 1rem; padding: 0.75rem 1rem; }
h2 { font-size: 1.1em; margin: 0; }
form { display: flex; gap: 0.5rem; padding: 0 1rem 1rem; }
input {
  flex: 1; min-width: 0; padding: 0.5rem 0.75rem; border: 1px solid var(--ragd-border, #8a8f98); border-radius: var(--ragd-radius, 0.5rem);
  background: var(--ragd-background, light-dark(#fff, #1b1d21)); color: inherit;
}
.answers { overflow: auto; padding: 0 1rem; overflow-wrap: anywhere; }
.answers > section { border-block-start: 1px solid var(--ragd-border, #8a8f98); padding-block: 0.75rem; }
h3 { font-size: 1em; margin: 0 0 0.5rem; }
p { margin: 0 0 0.75rem; white-space: pre-wrap; }
pre { overflow: auto; padding: 0.75rem; background: light-dark(#f0f2f5, #101215); border-radius: var(--ragd-radius, 0.5rem); }
code, pre { font: 0.9em/1.5 ui-monospace, monospace; }
sup { line-height: 1; }
ol { margin: 0; padding-inline-start: 1.75rem; font-size: 0.9em; }
a { color: var(--ragd-link, light-dark(#1c4f9c, #9cc3ff)); }
.error { color: var(--ragd-error, light-dark(#a4161a, #ffa8a8)); }
.note { font-size: 0.85em; padding: 0 1rem 0.75rem; margin: 0; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@keyframes appear { from { opacity: 0; transform: translateY(0.5rem); } }
@media (prefers-reduced-motion: reduce) { dialog[open] { animation: none; } }
@media (forced-colors: active) { button { border-color: ButtonBorder; } }
`;
