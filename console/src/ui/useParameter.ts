import { useCallback, useEffect } from "react";
import { useSearchParams } from "react-router";

/** asked is what the address was asked to become, until the page shows it. */
let asked: { of: string; next: URLSearchParams } | undefined;

/**
 * useParameters returns the parameters of the page's address, and changes them; with push the address before is a step back.
 * A change builds on those before it, also on those that the page does not show yet: a key that is pressed twice counts twice.
 */
export function useParameters(): [parameters: URLSearchParams, change: (write: (next: URLSearchParams) => void, push?: boolean) => void] {
  const [parameters, setParameters] = useSearchParams();
  useEffect(() => {
    asked = undefined;
  }, [parameters]);
  const change = useCallback((write: (next: URLSearchParams) => void, push = false) => {
    const { href, search } = window.location;
    const next = new URLSearchParams(asked?.of === href ? asked.next : search);
    write(next);
    asked = { of: href, next };
    setParameters(next, { replace: !push });
  }, [setParameters]);
  return [parameters, change];
}

/** useParameter returns a parameter of the page's address, and sets it; the standard value is not written there. */
export function useParameter(name: string, standard = ""): [value: string, set: (value: string) => void] {
  const [parameters, change] = useParameters();
  const set = (value: string) => change((next) => (value === standard ? next.delete(name) : next.set(name, value)));
  return [parameters.get(name) ?? standard, set];
}

/** useFlag returns whether the page's address has a parameter, such as create, and sets or removes it. */
export function useFlag(name: string): [on: boolean, set: (on: boolean) => void] {
  const [parameters, change] = useParameters();
  const set = (on: boolean) => change((next) => (on ? next.set(name, "") : next.delete(name)));
  return [parameters.has(name), set];
}
