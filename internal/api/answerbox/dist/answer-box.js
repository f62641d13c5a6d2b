(function(){var e=class extends Error{},t=1e3;async function n(t,n,a,s,c){let l=n.slice(-3).flatMap(e=>[{role:`user`,content:e.question},{role:`assistant`,content:e.answer}]),u;try{u=await fetch(`${t.address}/v1/chat/completions`,{method:`POST`,headers:{Authorization:`Bearer ${t.key}`,"Content-Type":`application/json`,"Ragd-Footnotes":`false`},body:JSON.stringify({model:t.model,stream:!0,messages:[...l,{role:`user`,content:a}]}),credentials:`omit`,referrerPolicy:`no-referrer`,signal:s})}catch(t){throw s.aborted?t:new e(`The service cannot be reached from this page.`)}if(!u.ok)throw await i(u);let d=``,f=!1,p=new Map;for await(let t of o(u,s)){if(t===`[DONE]`){f=!0;break}let n=JSON.parse(t);if(n.error)throw new e(n.error.message??`The answer was interrupted.`);let i=n.choices?.[0]?.delta;i?.content&&c(d+=i.content);for(let e of r(d,i?.annotations??[]))p.set(e.number,e)}if(!f)throw new e(`The answer was interrupted.`);return{text:d,sources:[...p.values()].sort((e,t)=>e.number-t.number)}}function r(e,t){let n=[...e],r=new Map;for(let e of t){let t=e.url_citation.start_index;r.set(t,[...r.get(t)??[],e])}return[...r.values()].flatMap(e=>{let{start_index:t,end_index:r}=e[0].url_citation,i=n.slice(t,r).join(``).match(/\d+/g)??[];return i.length===e.length?e.map(({url_citation:{url:e,title:t}},n)=>({number:Number(i[n]),title:t||e,url:a(e)})):[]})}async function i(t){let n=Number(t.headers.get(`Retry-After`));return t.status===429||t.status===503?new e(`The service is busy. Try again ${n>0?`in ${n} seconds`:`later`}.`):new e((await t.json().catch(()=>({}))).error?.message??`The service answers with ${t.status}.`)}function a(e){try{let t=new URL(e);return t.protocol===`https:`||t.protocol===`http:`?t.href:``}catch{return``}}async function*o(t,n){let r=t.body.pipeThrough(new TextDecoderStream).getReader(),i=``;try{for(;;){let{value:e,done:t}=await r.read();if(t)return;let n=(i+e).split(`
`);i=n.pop();for(let e of n)e.startsWith(`data: `)&&(yield e.slice(6))}}catch(t){throw n.aborted?t:new e(`The connection to the service was lost.`)}finally{await r.cancel().catch(()=>void 0)}}function s(e,t={},...n){let r=document.createElement(e);for(let[e,n]of Object.entries(t))r.setAttribute(e,n);return r.append(...n),r}function c(e,t=[]){let n=new Map(t.map(e=>[e.number,e])),r=[];for(let[t,i]of e.split(/^```.*$/m).entries())if(t%2==1)r.push(s(`pre`,{tabindex:`0`},i.trim()));else for(let e of i.split(/\n{2,}/))e.trim()!==``&&r.push(s(`p`,{dir:`auto`},...l(e.trim(),n)));return r}function l(e,t){let n=[],r=0;for(let i of e.matchAll(/\*\*([^*\n]+)\*\*|`([^`\n]+)`|\[(\d+(?:, ?\d+)*)\]/g)){let[a,o,c,l]=i;n.push(e.slice(r,i.index)),r=i.index+a.length,o?n.push(s(`strong`,{},o)):c?n.push(s(`code`,{},c)):n.push(...u(a,l,t))}return n.push(e.slice(r)),n}function u(e,t,n){let r=t.split(`,`).map(Number);return r.every(e=>n.has(e))?r.map(e=>{let{url:t,title:r}=n.get(e);return s(`sup`,{},t?f(t,`[${e}]`,{"aria-label":`Source ${e}: ${r}`}):`[${e}]`)}):[e]}function d(e){return s(`ol`,{},...e.map(({number:e,title:t,url:n})=>s(`li`,{value:String(e),dir:`auto`},n?f(n,t):t)))}function f(e,t,n={}){return s(`a`,{href:e,target:`_blank`,rel:`noopener`,...n},t)}var p=`
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
`,m=class{service;answers=s(`div`,{class:`answers`,role:`region`,"aria-label":`Answers`,tabindex:`0`,hidden:``});status=s(`div`,{class:`hidden`,role:`status`,"aria-live":`polite`});input;send=s(`button`,{type:`submit`},`Ask`);dialog=s(`dialog`,{"aria-labelledby":`title`});turns=[];running;constructor(e,n,r){this.service=e,this.input=s(`input`,{type:`text`,maxlength:String(t),placeholder:n.placeholder,"aria-label":n.placeholder,autocomplete:`off`,autofocus:``,required:``});let i=s(`button`,{type:`button`,class:`open`,"aria-haspopup":`dialog`},n.button),a=s(`button`,{type:`button`,class:`quiet`,"aria-label":`Close`},`✕`),o=s(`form`,{},this.input,this.send);this.dialog.append(s(`header`,{},s(`h2`,{id:`title`},n.title),a),o,this.answers),n.note&&this.dialog.append(s(`p`,{class:`note`},n.note)),this.dialog.append(this.status),r.append(i,this.dialog),i.addEventListener(`click`,()=>this.dialog.showModal()),a.addEventListener(`click`,()=>this.dialog.close()),this.dialog.addEventListener(`close`,()=>this.running?.abort()),this.dialog.addEventListener(`click`,e=>{e.target===this.dialog&&this.dialog.close()}),o.addEventListener(`submit`,e=>{e.preventDefault(),this.running?this.running.abort():this.answer(this.input.value.trim())}),this.dialog.addEventListener(`keydown`,e=>e.stopPropagation())}async answer(t){if(t===``)return;let r=this.running=new AbortController,i=s(`div`,{"aria-busy":`true`}),a=s(`section`,{},s(`h3`,{dir:`auto`},t),i);this.answers.hidden=!1,this.answers.prepend(a),this.answers.scrollTop=0,this.input.value=``,this.send.textContent=`Stop`,this.say(`Looking for an answer.`);try{let e=await n(this.service,this.turns,t,r.signal,e=>i.replaceChildren(...c(e)));i.replaceChildren(...c(e.text,e.sources)),e.sources.length>0&&a.append(s(`h3`,{},`Sources`),d(e.sources)),this.turns.push({question:t,answer:e.text}),this.say(`${e.text} ${e.sources.length} ${e.sources.length===1?`source`:`sources`}.`)}catch(t){let n=r.signal.aborted,i=n?`Stopped.`:t instanceof e?t.message:`The answer cannot be read.`;a.append(s(`p`,n?{}:{class:`error`},i)),this.say(i)}finally{i.removeAttribute(`aria-busy`),this.running=void 0,this.send.textContent=`Ask`}}say(e){this.status.textContent=e}};function h(e){let{key:t,index:n,agent:r,button:i,title:a,placeholder:o,note:c}=e.dataset;if(!t||!n&&!r){console.error(`The answer box needs the attributes data-key, and data-index or data-agent.`);return}let l={address:new URL(e.src).origin,key:t,model:r?`agent/${r}`:`passages/${n}`},u={button:i??`Ask`,title:a??`Ask the documentation`,placeholder:o??`Your question`,note:c??``},d=s(`ragd-answer-box`),f=d.attachShadow({mode:`open`}),h=new CSSStyleSheet;h.replaceSync(p),f.adoptedStyleSheets=[h],new m(l,u,f),document.body.append(d)}var g=document.currentScript;g instanceof HTMLScriptElement&&(document.readyState===`loading`?document.addEventListener(`DOMContentLoaded`,()=>h(g),{once:!0}):h(g))})();