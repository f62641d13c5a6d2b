import type { ReactNode } from "react";
import classes from "./Facts.module.css";

/** Facts shows names and values below each other. Values that are empty are left out. */
export function Facts({ facts }: { facts: [name: string, value: ReactNode][] }) {
  return (
    <dl className={classes.facts}>
      {facts.filter(([, value]) => value !== "" && value !== undefined && value !== null).map(([name, value]) => (
        <div key={name} className={classes.fact}>
          <dt>{name}</dt>
          <dd dir="auto">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
