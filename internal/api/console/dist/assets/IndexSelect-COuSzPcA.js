<<<<<<<< HEAD:internal/api/console/dist/assets/IndexSelect-DYsfCBIz.js
import{t as e}from"./Autocomplete-DVrwl8AR.js";import{m as t}from"./Code-CIpHXF47.js";import{t as n}from"./index_pb-PMv_RJSR.js";import{t as r}from"./jsx-runtime-Wy9s6hX0.js";var i=r();function a(r){let a=t(n.method.listIndexes,{pageSize:1e3});return(0,i.jsx)(e,{...r,data:a.data?.indexNames??[],limit:100})}export{a as t};
========
import{t as e}from"./Autocomplete-eNQJ5bGg.js";import{m as t}from"./Code-dodgg4Zo.js";import{t as n}from"./index_pb-B6hQqAKO.js";import{t as r}from"./jsx-runtime-Wy9s6hX0.js";var i=r();function a(r){let a=t(n.method.listIndexes,{pageSize:1e3});return(0,i.jsx)(e,{...r,data:a.data?.indexNames??[],limit:100})}export{a as t};
>>>>>>>> 487f382c (generated: make the page anew):internal/api/console/dist/assets/IndexSelect-COuSzPcA.js
