<<<<<<<< HEAD:internal/api/console/dist/assets/Loading-qIviiB0T.js
import{l as e}from"./index-C74Lm61M.js";import{Xt as t,n}from"./Code-CIpHXF47.js";import{t as r}from"./jsx-runtime-Wy9s6hX0.js";var i=r();function a({query:r,children:a}){return r.data===void 0?r.isPending?(0,i.jsxs)(t,{gap:`xs`,"aria-busy":!0,children:[(0,i.jsx)(e,{h:28}),(0,i.jsx)(e,{h:28}),(0,i.jsx)(e,{h:28})]}):(0,i.jsx)(n,{error:r.error,retry:()=>void r.refetch()}):a(r.data)}export{a as t};
========
import{l as e}from"./index-D255HqTk.js";import{Xt as t,n}from"./Code-dodgg4Zo.js";import{t as r}from"./jsx-runtime-Wy9s6hX0.js";var i=r();function a({query:r,children:a}){return r.data===void 0?r.isPending?(0,i.jsxs)(t,{gap:`xs`,"aria-busy":!0,children:[(0,i.jsx)(e,{h:28}),(0,i.jsx)(e,{h:28}),(0,i.jsx)(e,{h:28})]}):(0,i.jsx)(n,{error:r.error,retry:()=>void r.refetch()}):a(r.data)}export{a as t};
>>>>>>>> 487f382c (generated: make the page anew):internal/api/console/dist/assets/Loading-BG0JA405.js
