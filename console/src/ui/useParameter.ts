import { useSearchParams } from "react-router";

/** useParameter returns a parameter of the page's address, and sets it; the standard value is not written there. */
export function useParameter(name: string, standard = ""): [value: string, set: (value: string) => void] {
  const [parameters, setParameters] = useSearchParams();
  const set = (value: string) =>
    setParameters((old) => {
      const next = new URLSearchParams(old);
      if (value === standard) next.delete(name);
      else next.set(name, value);
      return next;
    }, { replace: true });
  return [parameters.get(name) ?? standard, set];
}

/** useFlag returns whether the page's address has a parameter, such as create, and sets or removes it. */
export function useFlag(name: string): [on: boolean, set: (on: boolean) => void] {
  const [parameters, setParameters] = useSearchParams();
  const set = (on: boolean) =>
    setParameters((old) => {
      const next = new URLSearchParams(old);
      if (on) next.set(name, "");
      else next.delete(name);
      return next;
    }, { replace: true });
  return [parameters.has(name), set];
}
